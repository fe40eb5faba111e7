// What lets the Functions app send its logs and traces: Application Insights takes nothing
// without a token.

@description('Name of Application Insights.')
param insightsName string

@description('Name of the app\'s identity, from which the names of role assignments are derived.')
param identityName string

@description('Object id of the app\'s identity.')
param principalId string

var roles = {
  monitoringMetricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb'
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

// In spite of its name the role is for logs and traces too.
resource send 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(insights.id, identityName, roles.monitoringMetricsPublisher)
  scope: insights
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.monitoringMetricsPublisher)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

@description('Where telemetry is sent to. It is no secret.')
output connectionString string = insights.properties.ConnectionString
