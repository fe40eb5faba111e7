// The worker's subscriptions of jobs and controls, and the Service Bus roles of the worker, the scaler
// and the Functions app.

@description('Name of the Service Bus namespace, in this resource group.')
param namespaceName string

@description('Names of topics and subscriptions in the namespace, by their names in topology.json.')
param names object

@description('Id of the worker in runbooks.')
param workerId string

@description('Name of the worker\'s identity.')
param workerIdentityName string

@description('Object id of the worker\'s identity.')
param workerPrincipalId string

@description('Name of the identity of the Functions app.')
param functionsIdentityName string

@description('Object id of the identity of the Functions app.')
param functionsPrincipalId string

@description('Name of the identity that counts messages.')
param scaleIdentityName string

@description('Object id of the identity of the scaler.')
param scalePrincipalId string

@description('Id of the role with which the scaler counts messages.')
param scaleRoleId string

var roles = {
  'Azure Service Bus Data Receiver': '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
  'Azure Service Bus Data Sender': '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39'
}

// The subscription of worker-01 in the file is the pattern for each worker. Without any() the compiler
// gives each topic its own type, of which some have no rules.
var topics = any(loadJsonContent('../../topology.json').UserConfig.Namespaces[0].Topics)
var pattern = filter(topics, topic => topic.Name == 'worker-jobs')[0].Subscriptions[0]
var controlPattern = filter(topics, topic => topic.Name == 'worker-control')[0].Subscriptions[0]

resource bus 'Microsoft.ServiceBus/namespaces@2026-01-01' existing = {
  name: namespaceName
}

resource jobs 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' existing = {
  parent: bus
  name: names['worker-jobs']
}

resource control 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' existing = {
  parent: bus
  name: names['worker-control']
}

resource results 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' existing = {
  parent: bus
  name: names['worker-results']
}

resource subscription 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2026-01-01' = {
  parent: jobs
  name: '${names['worker-']}${workerId}'
  properties: {
    lockDuration: pattern.Properties.LockDuration
    maxDeliveryCount: pattern.Properties.MaxDeliveryCount
    defaultMessageTimeToLive: pattern.Properties.DefaultMessageTimeToLive
    deadLetteringOnMessageExpiration: pattern.Properties.DeadLetteringOnMessageExpiration
    deadLetteringOnFilterEvaluationExceptions: true
    enableBatchedOperations: true
  }
}

// Azure removes the rule $Default, which matches everything, when a rule with another name is created.
// Until then, for some seconds, the subscription receives jobs of other workers; the worker refuses
// them.
resource rule 'Microsoft.ServiceBus/namespaces/topics/subscriptions/rules@2026-01-01' = {
  parent: subscription
  name: pattern.Rules[0].Name
  properties: {
    filterType: 'SqlFilter'
    sqlFilter: {
      sqlExpression: replace(pattern.Rules[0].Properties.SqlFilter.SqlExpression, 'worker-01', workerId)
    }
  }
}

// Each worker receives all controls, so this subscription keeps the rule $Default. Replicas only peek;
// controls expire after the jobs that they revoke.
resource controls 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2026-01-01' = {
  parent: control
  name: '${names['worker-']}${workerId}'
  properties: {
    lockDuration: controlPattern.Properties.LockDuration
    maxDeliveryCount: controlPattern.Properties.MaxDeliveryCount
    defaultMessageTimeToLive: controlPattern.Properties.DefaultMessageTimeToLive
    deadLetteringOnMessageExpiration: controlPattern.Properties.DeadLetteringOnMessageExpiration
    enableBatchedOperations: true
  }
}

resource receive 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(subscription.id, workerIdentityName, roles['Azure Service Bus Data Receiver'])
  scope: subscription
  properties: {
    principalId: workerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Receiver'])
  }
}

// The Functions app reads the subscription's dead-letter queue, which has no role of its own.
resource readDeadLetters 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(subscription.id, functionsIdentityName, roles['Azure Service Bus Data Receiver'])
  scope: subscription
  properties: {
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Receiver'])
  }
}

// To peek needs the permission to receive.
resource peek 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(controls.id, workerIdentityName, roles['Azure Service Bus Data Receiver'])
  scope: controls
  properties: {
    principalId: workerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Receiver'])
  }
}

// Results, heartbeats and announcements.
resource send 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(results.id, workerIdentityName, roles['Azure Service Bus Data Sender'])
  scope: results
  properties: {
    principalId: workerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Sender'])
  }
}

// The scaler reads counts from the management API, where a role on the subscription may not suffice.
resource scale 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(jobs.id, scaleIdentityName, scaleRoleId)
  scope: jobs
  properties: {
    principalId: scalePrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', scaleRoleId)
  }
}

@description('Name of the worker\'s subscription.')
output subscriptionName string = subscription.name
