// Alerts on the handler's log records and on metrics of Service Bus and Cosmos DB, and the action
// group that they notify. docs/operate.md says what to do about each,
// docs/decisions/0030-alerts.md why there are these.
//
// The handler's log lines are JSON, which the Functions host sends on as they are: as the
// message of a trace, perhaps with something before it. They are found by their field Event.
// Every query gives its measure in the column Value. A line takes some minutes from the
// handler to where queries find it, so that each query looks further back than to the one
// before, and an alert that is there already is not told again.

@description('What the names of all resources begin with, such as matoolkit-dev.')
@minLength(5)
@maxLength(20)
param base string

@description('Region of the log alerts: that of the workspace.')
param location string

@description('Tags of everything.')
param tags object

@description('Resource id of the Log Analytics workspace that Application Insights and Container Apps write to.')
param workspaceId string

@description('Resource id of the Service Bus namespace.')
param serviceBusNamespaceId string

@description('Whether the namespace is Premium, which has processors of its own.')
param serviceBusPremium bool

@description('Resource id of the Cosmos DB account.')
param cosmosAccountId string

@description('E-mail addresses that are told.')
param alertEmails array = []

@description('Resource ids of action groups that are there already, such as of who is on call.')
param actionGroupIds array = []

@description('False: everything is there, and nothing is told.')
param enabled bool = true

@description('By how many seconds something may be late. What was lost is made up for within seven minutes; what is later was not. Workers that answer nothing are told of anyway.')
@minValue(60)
param stuckStepsSeconds int = 600

@description('For how long, in seconds, a message may wait for the handler. One that waits out an outage of Cosmos DB does so for nearly eight minutes.')
@minValue(60)
param oldestMessageSeconds int = 900

@description('For how long nothing may be heard of the scheduler, which ticks every five minutes.')
@allowed([
  'PT15M'
  'PT30M'
  'PT1H'
])
param missingTicksWindow string = 'PT15M'

@description('How many ticks of 15 minutes may fail, of three.')
@minValue(0)
@maxValue(2)
param failingTicks int = 1

@description('How many comparisons of a runbook with its data source may fail in half an hour, of six.')
@minValue(0)
@maxValue(5)
param failingSyncs int = 2

@description('How many dead letters a topic may have for longer than 15 minutes.')
@minValue(0)
param deadLetters int = 0

@description('How many requests Service Bus may refuse in 15 minutes because there are too many.')
@minValue(0)
param serviceBusThrottledRequests int = 100

@description('How much of its processors a Premium namespace may use over 15 minutes, in percent.')
@minValue(1)
@maxValue(100)
param serviceBusCpuPercent int = 80

@description('How many requests Cosmos DB may refuse in 15 minutes because they ask for too much. Some are as it should be: they are sent again.')
@minValue(0)
param cosmosThrottledRequests int = 1000

@description('How many lines of trouble with starting or scaling workers there may be in 15 minutes.')
@minValue(0)
param workerTroubles int = 5

var lines = '''AppTraces
| where Message has "Event"
| extend Line = parse_json(extract(@"\{.*\}", 0, Message))
| extend Event = tostring(Line.Event), BatchId = tostring(Line.BatchId), RunbookName = tostring(Line.RunbookName)
'''

// Severity: 1 is for whoever is on call, 2 for the same day, 3 for somebody to decide.
var rules = [
  {
    key: 'failed-batches'
    description: 'A batch has ended failed: see what failed, and retry it or not.'
    severity: 1
    window: 'PT15M'
    query: '${lines}| where Event == "batch-failed"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'BatchId'
      'RunbookName'
    ]
  }
  {
    key: 'stopped-phases'
    description: 'Too many members of a phase have failed, and its batch is paused: see why, then resume or cancel it.'
    severity: 1
    window: 'PT15M'
    query: '${lines}| where Event == "phase-stopped"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'BatchId'
      'RunbookName'
    ]
  }
  {
    key: 'stuck-steps'
    description: 'Steps have stood still for longer than they may: a worker answers nothing, or messages were lost.'
    severity: 1
    window: 'PT15M'
    query: '${lines}| where Event == "stuck-steps"\n| where tolong(Line.OldestSeconds) > ${stuckStepsSeconds} or array_length(Line.SilentWorkers) > 0\n| extend SilentWorkers = strcat_array(Line.SilentWorkers, ", "), Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'BatchId'
      'RunbookName'
      'SilentWorkers'
    ]
  }
  {
    key: 'worker-gone'
    description: 'Jobs wait for a worker that is gone: it ended without a goodbye, or did not start in time.'
    severity: 1
    window: 'PT15M'
    query: '${lines}| where Event == "worker-gone"\n| extend Worker = tostring(Line.WorkerId), Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'Worker'
    ]
  }
  {
    key: 'oldest-message'
    description: 'Messages wait for the handler for longer than they may: it does not run, does not get on, or has too few instances.'
    severity: 1
    window: 'PT15M'
    query: '${lines}| where Event == "oldest-message"\n| extend Topic = tostring(Line.Topic), Value = tolong(Line.AgeSeconds)'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: oldestMessageSeconds
    dimensions: [
      'Topic'
    ]
  }
  {
    // It has a row also where there is no line.
    key: 'missing-ticks'
    description: 'The scheduler is not heard of: nothing begins on time, and nothing that was lost is made up for.'
    severity: 1
    window: missingTicksWindow
    query: '${lines}| where Event in ("tick", "oldest-message")\n| summarize Value = count()\n| extend TimeGenerated = now()'
    aggregation: 'Total'
    operator: 'LessThan'
    threshold: 1
    dimensions: []
  }
  {
    key: 'failing-ticks'
    description: 'Ticks of the scheduler fail again and again: what it did not come to is left undone. The log says why.'
    severity: 2
    window: 'PT15M'
    query: '${lines}| where Event == "tick" and tobool(Line.Failed)\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: failingTicks
    dimensions: []
  }
  {
    key: 'unprocessed-messages'
    description: 'A message could not be processed, or is a dead letter that is not sent again by itself. It is kept: see why, and replay or discard it.'
    severity: 2
    window: 'PT15M'
    query: '${lines}| where Event == "message-unprocessed"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: []
  }
  {
    key: 'failing-syncs'
    description: 'A runbook does not follow its data source: its query fails, or its result cannot be used.'
    severity: 2
    window: 'PT30M'
    query: '${lines}| where Event == "runbook-not-synced"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: failingSyncs
    dimensions: [
      'RunbookName'
    ]
  }
  {
    key: 'expiring-credentials'
    description: 'The credential that a worker signs in with expires within two weeks, or has expired: renew it.'
    severity: 2
    window: 'PT15M'
    query: '${lines}| where Event == "credential-expiring"\n| extend Worker = tostring(Line.WorkerId), Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'Worker'
    ]
  }
  {
    key: 'held-additions'
    description: 'The query of a runbook returns so many new people that their addition is held: confirm it, or correct the query.'
    severity: 3
    window: 'PT15M'
    query: '${lines}| where Event == "additions-held"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'RunbookName'
    ]
  }
  {
    key: 'held-removals'
    description: 'So many people are gone from the data source that their removal is held: confirm or discard it. Until then nobody new may come into the batch.'
    severity: 3
    window: 'PT15M'
    query: '${lines}| where Event == "removals-held"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'BatchId'
    ]
  }
  {
    key: 'worker-troubles'
    description: 'Workers cannot be started or end again and again, or their queue cannot be read to scale them.'
    severity: 2
    window: 'PT15M'
    query: '''ContainerAppSystemLogs
| extend App = tostring(column_ifexists("ContainerAppName", "")), Why = strcat(tostring(column_ifexists("Reason", "")), " ", tostring(column_ifexists("Log", "")))
| where Why matches regex @"(?i)back-?off|crash|image ?pull|oom ?killed|scaler ?failed|scalers ?failed|error building scaler"
| extend Value = 1'''
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: workerTroubles
    dimensions: [
      'App'
    ]
  }
]

var cpuMetrics = serviceBusPremium
  ? [
      {
        key: 'service-bus-cpu'
        description: 'Service Bus has little capacity left: add messaging units.'
        severity: 2
        scope: serviceBusNamespaceId
        namespace: 'Microsoft.ServiceBus/Namespaces'
        metric: 'NamespaceCpuUsage'
        aggregation: 'Average'
        threshold: serviceBusCpuPercent
        dimensions: []
      }
    ]
  : []

var metrics = concat(
  [
    {
      key: 'dead-letters'
      description: 'Dead letters stay where they are: the handler does not take them from their queue.'
      severity: 1
      scope: serviceBusNamespaceId
      namespace: 'Microsoft.ServiceBus/Namespaces'
      metric: 'DeadletteredMessages'
      aggregation: 'Minimum' // the handler takes them within minutes: of these nobody has to know
      threshold: deadLetters
      dimensions: [
        {
          name: 'EntityName'
          operator: 'Include'
          values: [
            '*'
          ]
        }
      ]
    }
    {
      key: 'service-bus-throttling'
      description: 'Service Bus refuses requests because there are too many.'
      severity: 2
      scope: serviceBusNamespaceId
      namespace: 'Microsoft.ServiceBus/Namespaces'
      metric: 'ThrottledRequests'
      aggregation: 'Total'
      threshold: serviceBusThrottledRequests
      dimensions: []
    }
    {
      key: 'cosmos-throttling'
      description: 'Cosmos DB refuses requests because they ask for more than it may give: raise its throughput.'
      severity: 2
      scope: cosmosAccountId
      namespace: 'Microsoft.DocumentDB/databaseAccounts'
      metric: 'TotalRequests'
      aggregation: 'Count'
      threshold: cosmosThrottledRequests
      dimensions: [
        {
          name: 'StatusCode'
          operator: 'Include'
          values: [
            '429'
          ]
        }
      ]
    }
  ],
  cpuMetrics
)

resource group 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: '${base}-alerts'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: take(base, 12)
    enabled: enabled
    emailReceivers: map(alertEmails, address => {
      name: address
      emailAddress: address
      useCommonAlertSchema: true
    })
  }
}

var groups = concat(
  [
    group.id
  ],
  actionGroupIds
)

// The tables have no columns, and perhaps are not there, before the first line comes.
resource logAlerts 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [for rule in rules: {
  name: '${base}-alert-${rule.key}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: '${base}-alert-${rule.key}'
    description: rule.description
    severity: rule.severity
    enabled: enabled
    scopes: [
      workspaceId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: rule.window
    skipQueryValidation: true
    autoMitigate: true
    criteria: {
      allOf: [
        {
          query: rule.query
          timeAggregation: rule.aggregation
          metricMeasureColumn: 'Value'
          operator: rule.operator
          threshold: rule.threshold
          dimensions: map(rule.dimensions, column => {
            name: column
            operator: 'Include'
            values: [
              '*'
            ]
          })
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    actions: {
      actionGroups: groups
    }
  }
}]

resource metricAlerts 'Microsoft.Insights/metricAlerts@2018-03-01' = [for alert in metrics: {
  name: '${base}-alert-${alert.key}'
  location: 'global'
  tags: tags
  properties: {
    description: alert.description
    severity: alert.severity
    enabled: enabled
    scopes: [
      alert.scope
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    autoMitigate: true
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: alert.key
          metricNamespace: alert.namespace
          metricName: alert.metric
          timeAggregation: alert.aggregation
          operator: 'GreaterThan'
          threshold: alert.threshold
          dimensions: alert.dimensions
          skipMetricValidation: true
        }
      ]
    }
    actions: map(groups, id => {
      actionGroupId: id
    })
  }
}]

@description('Resource id of the action group.')
output actionGroupId string = group.id

@description('Names of the log alerts.')
output logAlertNames array = map(rules, rule => '${base}-alert-${rule.key}')

@description('Names of the metric alerts.')
output metricAlertNames array = map(metrics, alert => '${base}-alert-${alert.key}')
