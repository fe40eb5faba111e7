// The role of the Functions app or a worker to send telemetry to Application Insights.

@description('Name of Application Insights.')
param insightsName string

@description('Name of the sender\'s identity, from which the names of role assignments are derived.')
param identityName string

@description('Object id of the sender\'s identity.')
param principalId string

var roles = {
  monitoringMetricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb'
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

// Despite its name the role also covers logs and traces.
resource send 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(insights.id, identityName, roles.monitoringMetricsPublisher)
  scope: insights
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.monitoringMetricsPublisher)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

@description('Connection string of Application Insights, which is not a secret.')
output connectionString string = insights.properties.ConnectionString
