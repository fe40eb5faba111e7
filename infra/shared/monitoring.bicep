// Logs and metrics: a Log Analytics workspace, and Application Insights on it.

@description('Name of the Log Analytics workspace.')
param workspaceName string

@description('Name of Application Insights.')
param insightsName string

@description('Region of both.')
param location string

@description('Tags of both.')
param tags object

@description('Days that logs are kept; 30 are included in the price.')
@minValue(30)
@maxValue(730)
param retentionDays int

@description('Gigabytes of logs per day, after which logs, and the alerts on them, are lost; -1: no limit.')
@minValue(-1)
param dailyQuotaGb int

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' = {
  name: workspaceName
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: retentionDays
    workspaceCapping: {
      dailyQuotaGb: dailyQuotaGb
    }
    features: {
      // No keys: services write with diagnostic settings, programs through Application Insights.
      disableLocalAuth: true
      enableLogAccessUsingOnlyResourcePermissions: true
    }
  }
}

// Queries of the logs.
#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'log-analytics'
  scope: workspace
  properties: {
    workspaceId: workspace.id
    logs: [
      {
        category: 'Audit'
        enabled: true
      }
    ]
  }
}

resource insights 'Microsoft.Insights/components@2020-02-02' = {
  name: insightsName
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    IngestionMode: 'LogAnalytics'
    // Senders need a token and the role Monitoring Metrics Publisher, so the connection string is not
    // a secret.
    DisableLocalAuth: true
  }
}

@description('Resource id of the workspace.')
output workspaceId string = workspace.id

@description('Id of the workspace in queries.')
output workspaceCustomerId string = workspace.properties.customerId
