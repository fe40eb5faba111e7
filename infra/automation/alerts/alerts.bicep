// Alerts on the handler's log records and on metrics of Service Bus and Cosmos DB, and the action
// group that they notify. docs/operate.md says what to do about each,
// docs/decisions/0030-alerts.md why there are these.
//
// The handler logs JSON lines, which the Functions host forwards as the message of a trace, perhaps
// with a prefix. The queries select them by their field Event, and return their measure in the
// column Value. Lines take some minutes to arrive, so each query covers more time than has passed
// since the one before; an alert that is active does not notify again.

@description('Prefix of the names of all resources, such as matoolkit-dev.')
@minLength(5)
@maxLength(20)
param base string

@description('Region of the log alerts, which is that of the workspace.')
param location string

@description('Tags of all resources.')
param tags object

@description('Resource id of the Log Analytics workspace that Application Insights and Container Apps write to.')
param workspaceId string

@description('Resource id of the Service Bus namespace.')
param serviceBusNamespaceId string

@description('Whether the namespace is Premium, which reports its CPU.')
param serviceBusPremium bool

@description('Resource id of the Cosmos DB account.')
param cosmosAccountId string

@description('E-mail addresses that receive alerts.')
param alertEmails array = []

@description('Resource ids of existing action groups that also receive alerts.')
param actionGroupIds array = []

@description('False: alerts notify no one.')
param enabled bool = true

@description('Delay in seconds after which steps count as stuck. The scheduler repeats lost messages within seven minutes. Silent workers always raise the alert.')
@minValue(60)
param stuckStepsSeconds int = 600

@description('Age in seconds at which detached steps that have not ended raise an alert: longer than their timeouts and retries take.')
@minValue(60)
param openDetachedSeconds int = 7200

@description('Maximum age of a waiting message in seconds. A message that waits out an outage of Cosmos DB can be eight minutes old.')
@minValue(60)
param oldestMessageSeconds int = 900

@description('Period without a run of the scheduler, which runs every five minutes.')
@allowed([
  'PT15M'
  'PT30M'
  'PT1H'
])
param missingTicksWindow string = 'PT15M'

@description('Failed runs of the scheduler in 15 minutes, of three, that raise no alert.')
@minValue(0)
@maxValue(2)
param failingTicks int = 1

@description('Failed syncs of a runbook in half an hour, of six, that raise no alert.')
@minValue(0)
@maxValue(5)
param failingSyncs int = 2

@description('Dead letters of a topic, for longer than 15 minutes, that raise no alert.')
@minValue(0)
param deadLetters int = 0

@description('Throttled requests of Service Bus in 15 minutes that raise no alert.')
@minValue(0)
param serviceBusThrottledRequests int = 100

@description('CPU of a Premium namespace over 15 minutes, in percent, that raises no alert.')
@minValue(1)
@maxValue(100)
param serviceBusCpuPercent int = 80

@description('Throttled requests of Cosmos DB in 15 minutes that raise no alert. The handler repeats them.')
@minValue(0)
param cosmosThrottledRequests int = 1000

@description('Log lines about failed starts or scaling of workers in 15 minutes that raise no alert.')
@minValue(0)
param workerTroubles int = 5

@description('Requests to the admin API in 15 minutes that end with a server error and raise no alert.')
@minValue(0)
param apiErrors int = 5

@description('Budget of the resource group for a month, in the currency of the subscription. The action group is notified at 80 % and at 100 %. 0: none.')
@minValue(0)
param monthlyBudget int = 0

@description('With monthlyBudget: first day of the month in which you first deploy it, such as 2026-12-01. It cannot be changed later.')
param budgetStart string = ''

var lines = '''AppTraces
| where Message has "Event"
| extend Line = parse_json(extract(@"\{.*\}", 0, Message))
| extend Event = tostring(Line.Event), BatchId = tostring(Line.BatchId), RunbookName = tostring(Line.RunbookName)
'''

// Severity: 1 is for the person on call, 2 for the same day, 3 waits for a decision.
var rules = [
  {
    key: 'failed-batches'
    description: 'A batch failed: no phase completed, or init failed. Correct the cause and retry the batch. See docs/operate.md.'
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
    key: 'failed-detached-steps'
    description: 'Detached steps of a phase failed after their last retry. The batch is not concerned. Correct the cause and retry the steps. See docs/operate.md.'
    severity: 2
    window: 'PT15M'
    query: '${lines}| where Event == "detached-failed"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'BatchId'
      'RunbookName'
    ]
  }
  {
    key: 'open-detached-steps'
    description: 'Detached steps of a phase have not ended for long. The batch is not concerned. See docs/operate.md.'
    severity: 2
    window: 'PT15M'
    query: '${lines}| where Event == "detached-open"\n| extend Value = tolong(Line.AgeSeconds)'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: openDetachedSeconds
    dimensions: [
      'BatchId'
      'RunbookName'
    ]
  }
  {
    key: 'returned-shares'
    description: 'The share of a pipeline returned to the old orchestrator because too many requests failed. Find the cause, then set the share. See docs/operate.md.'
    severity: 1
    window: 'PT15M'
    query: '${lines}| where Event == "share-returned"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'RunbookName'
    ]
  }
  {
    key: 'differing-shadows'
    description: 'Shadows of a pipeline differ from the old orchestrator, or fail where it does not. Compare them before you move owners over. See docs/operate.md.'
    severity: 3
    window: 'PT15M'
    query: '${lines}| where Event == "shadow-differs"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'RunbookName'
    ]
  }
  {
    key: 'unused-shares'
    description: 'A pipeline has a share of the owners and gets no requests: its caller does not ask for the route. See docs/operate.md.'
    severity: 2
    window: 'PT15M'
    query: '${lines}| where Event == "share-unused"\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: [
      'RunbookName'
    ]
  }
  {
    key: 'stopped-phases'
    description: 'Too many members of a phase failed, and stop_when paused the batch. Find the cause, then resume or cancel the batch. See docs/operate.md.'
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
    description: 'Steps make no progress: a worker does not answer, or messages were lost. See docs/operate.md.'
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
    description: 'Jobs wait for a worker that ended unexpectedly or did not start in time. See docs/operate.md.'
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
    description: 'Messages wait too long for the handler: it does not run, makes no progress, or has too few instances. See docs/operate.md.'
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
    key: 'missing-ticks'
    description: 'The scheduler does not run: phases do not begin on time, and lost messages are not repeated. See docs/operate.md.'
    severity: 1
    window: missingTicksWindow
    query: '${lines}| where Event in ("tick", "oldest-message")'
    aggregation: 'Count' // of rows
    operator: 'LessThan'
    threshold: 1
    dimensions: []
  }
  {
    key: 'failing-ticks'
    description: 'Runs of the scheduler fail repeatedly. The log has the reason. See docs/operate.md.'
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
    description: 'An unprocessable message or a dead letter waits for you. Find the cause, then replay or discard it. See docs/operate.md.'
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
    description: 'The sync of a runbook fails repeatedly: its query fails, or the result is not usable. See docs/operate.md.'
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
    description: 'The credential of a worker expires within two weeks, or has expired. Rotate it. See docs/operate.md.'
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
    description: 'The query of a runbook returns unusually many new people, who wait for confirmation. Confirm the additions, or correct the query. See docs/operate.md.'
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
    description: 'Unusually many people left the data source, and their removal waits for confirmation. Confirm or discard it. See docs/operate.md.'
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
    key: 'api-errors'
    description: 'Requests to the admin API fail with a server error. See docs/operate.md.'
    severity: 2
    window: 'PT15M'
    query: 'AppRequests\n| where toint(ResultCode) between (500 .. 599)\n| extend Value = 1'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: apiErrors
    dimensions: []
  }
  {
    key: 'worker-troubles'
    description: 'Workers do not start or end repeatedly, or the scaler cannot read their queue. See docs/operate.md.'
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
        description: 'Service Bus has little CPU left. Add messaging units (serviceBusCapacity). See docs/operate.md.'
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
      description: 'Dead letters stay in their queue: the handler does not read them. See docs/operate.md.'
      severity: 1
      scope: serviceBusNamespaceId
      namespace: 'Microsoft.ServiceBus/Namespaces'
      metric: 'DeadletteredMessages'
      aggregation: 'Minimum' // the handler reads dead letters within minutes
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
      description: 'Service Bus throttles requests. See docs/operate.md.'
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
      description: 'Cosmos DB throttles requests. Raise cosmosMaximumThroughput. See docs/operate.md.'
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

// Before the first line arrives, the tables can be missing or have no columns.
resource logAlerts 'Microsoft.Insights/scheduledQueryRules@2026-03-01' = [for rule in rules: {
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
          metricMeasureColumn: rule.aggregation == 'Count' ? null : 'Value'
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

resource metricAlerts 'Microsoft.Insights/metricAlerts@2026-01-01' = [for alert in metrics: {
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

resource budget 'Microsoft.Consumption/budgets@2024-08-01' = if (monthlyBudget > 0) {
  name: '${base}-budget'
  properties: {
    category: 'Cost'
    amount: monthlyBudget
    timeGrain: 'Monthly'
    timePeriod: {
      startDate: monthlyBudget > 0 && empty(budgetStart) ? fail('budgetStart: name the first day of a month, such as 2026-12-01') : budgetStart
    }
    notifications: toObject(
      [
        80
        100
      ],
      percent => 'actual${percent}',
      percent => {
        enabled: true
        operator: 'GreaterThanOrEqualTo'
        threshold: percent
        thresholdType: 'Actual'
        contactEmails: []
        contactGroups: groups
      }
    )
  }
}

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(workspaceId, '${base}-workbook')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: base
    category: 'workbook'
    version: 'Notebook/1.0'
    sourceId: workspaceId
    serializedData: replace(string(loadJsonContent('workbook.json')), 'WORKSPACE_ID', workspaceId)
  }
}

@description('Resource id of the action group.')
output actionGroupId string = group.id

@description('Names of the log alerts.')
output logAlertNames array = map(rules, rule => '${base}-alert-${rule.key}')

@description('Names of the metric alerts.')
output metricAlertNames array = map(metrics, alert => '${base}-alert-${alert.key}')
