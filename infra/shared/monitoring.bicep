// Where logs and figures go: the Log Analytics workspace and Application Insights on it.

@description('Name of the Log Analytics workspace.')
param workspaceName string

@description('Name of Application Insights.')
param insightsName string

@description('Region of both.')
param location string

@description('Tags of both.')
param tags object

@description('For how many days logs are kept; 30 are included in the price.')
@minValue(30)
@maxValue(730)
param retentionDays int

@description('After how many gigabytes a day logs are no longer taken; -1: no limit. What is over it is lost, alerts that look at it as well.')
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
      // Nobody sends with the workspace's keys: services do it by diagnostic settings,
      // programs through Application Insights.
      disableLocalAuth: true
      enableLogAccessUsingOnlyResourcePermissions: true
    }
  }
}

// Who asked what of the logs.
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
    // The connection string says where to send to, and is no secret any more: whoever
    // sends needs a token and the role Monitoring Metrics Publisher.
    DisableLocalAuth: true
  }
}

@description('Resource id of the workspace.')
output workspaceId string = workspace.id

@description('Id by which queries from outside name the workspace.')
output workspaceCustomerId string = workspace.properties.customerId
