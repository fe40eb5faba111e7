// Alerts of the container scaler, on its log records. They notify the action group of the other alerts.
// docs/operate.md says what to do about each.

@description('Prefix of the names of all resources, such as matoolkit-dev.')
@minLength(5)
@maxLength(20)
param base string

@description('Region of the alerts, which is that of the workspace.')
param location string

@description('Tags of all resources.')
param tags object

@description('False: alerts notify no one.')
param enabled bool = true

// As the log alerts of the Functions app read their records.
var lines = '''AppTraces
| where Message has "Event"
| extend Line = parse_json(extract(@"\{.*\}", 0, Message))
| extend Event = tostring(Line.Event)
'''

// Severity: 2 is for the same day.
var rules = [
  {
    key: 'failing-scaler'
    description: 'Ticks of the container scaler fail: container groups or messages cannot be read, or groups cannot be created. See docs/operate.md.'
    query: '${lines}| where Event == "scaler-tick" and tobool(Line.Failed)\n| extend Value = 1'
    threshold: 5 // of fifteen ticks
    dimensions: []
  }
  {
    key: 'lost-containers'
    description: 'Containers end before they receive their message, and others are created in their place. See docs/operate.md.'
    query: '${lines}| where Event == "container-lost"\n| extend Subscription = tostring(Line.Subscription), Value = 1'
    threshold: 0
    dimensions: [
      'Subscription'
    ]
  }
]

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' existing = {
  name: '${base}-log'
}

resource group 'Microsoft.Insights/actionGroups@2023-01-01' existing = {
  name: '${base}-alerts'
}

// Before the first line arrives, the tables can be missing or have no columns.
resource logAlerts 'Microsoft.Insights/scheduledQueryRules@2026-03-01' = [for rule in rules: {
  name: '${base}-alert-${rule.key}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: '${base}-alert-${rule.key}'
    description: rule.description
    severity: 2
    enabled: enabled
    scopes: [
      workspace.id
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    skipQueryValidation: true
    autoMitigate: true
    criteria: {
      allOf: [
        {
          query: rule.query
          timeAggregation: 'Total'
          metricMeasureColumn: 'Value'
          operator: 'GreaterThan'
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
      actionGroups: [
        group.id
      ]
    }
  }
}]
