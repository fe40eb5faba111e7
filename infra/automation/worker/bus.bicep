// The worker's subscriptions, of its jobs out of all and of the controls that revoke jobs,
// and what the worker and the scaler may do on the bus.

@description('Name of the Service Bus namespace, in this resource group.')
param namespaceName string

@description('Id of the worker, by which runbooks name it.')
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

@description('Object id of the identity that the scaler counts messages by.')
param scalePrincipalId string

@description('Id of the role by which the scaler counts messages.')
param scaleRoleId string

var roles = {
  'Azure Service Bus Data Receiver': '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
  'Azure Service Bus Data Sender': '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39'
}

// The subscription of the one worker in the file is the pattern of all: only the id is
// another. Without any the compiler takes each topic for a type of its own, and those of
// the other subscriptions have no rules.
var topics = any(loadJsonContent('../../topology.json').UserConfig.Namespaces[0].Topics)
var pattern = filter(topics, topic => topic.Name == 'worker-jobs')[0].Subscriptions[0]
var controlPattern = filter(topics, topic => topic.Name == 'worker-control')[0].Subscriptions[0]

resource bus 'Microsoft.ServiceBus/namespaces@2026-01-01' existing = {
  name: namespaceName
}

resource jobs 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' existing = {
  parent: bus
  name: 'worker-jobs'
}

resource control 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' existing = {
  parent: bus
  name: 'worker-control'
}

resource results 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' existing = {
  parent: bus
  name: 'worker-results'
}

resource subscription 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2026-01-01' = {
  parent: jobs
  name: 'worker-${workerId}'
  properties: {
    lockDuration: pattern.Properties.LockDuration
    maxDeliveryCount: pattern.Properties.MaxDeliveryCount
    defaultMessageTimeToLive: pattern.Properties.DefaultMessageTimeToLive
    deadLetteringOnMessageExpiration: pattern.Properties.DeadLetteringOnMessageExpiration
    deadLetteringOnFilterEvaluationExceptions: true
    enableBatchedOperations: true
  }
}

// A new subscription has the rule $Default, which takes everything, until it is given one
// of another name: Azure takes $Default away then. So this rule must not be called
// $Default, and jobs of other workers that were sent in the seconds between come here
// once; the worker refuses them.
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

// Every worker sees every control, so this one keeps the rule $Default. Replicas only peek:
// controls leave by their time to live, which is longer than that of the jobs they revoke.
resource controls 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2026-01-01' = {
  parent: control
  name: 'worker-${workerId}'
  properties: {
    lockDuration: controlPattern.Properties.LockDuration
    maxDeliveryCount: controlPattern.Properties.MaxDeliveryCount
    defaultMessageTimeToLive: controlPattern.Properties.DefaultMessageTimeToLive
    deadLetteringOnMessageExpiration: controlPattern.Properties.DeadLetteringOnMessageExpiration
    enableBatchedOperations: true
  }
}

// The worker takes its own jobs, and nobody else's.
resource receive 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(subscription.id, workerIdentityName, roles['Azure Service Bus Data Receiver'])
  scope: subscription
  properties: {
    principalId: workerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Receiver'])
  }
}

// The Functions app reads the subscription's dead-letter queue, and sends again what a worker
// never answered. No role is for the dead-letter queue alone.
resource readDeadLetters 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(subscription.id, functionsIdentityName, roles['Azure Service Bus Data Receiver'])
  scope: subscription
  properties: {
    principalId: functionsPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Receiver'])
  }
}

// To peek takes the right to listen.
resource peek 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(controls.id, workerIdentityName, roles['Azure Service Bus Data Receiver'])
  scope: controls
  properties: {
    principalId: workerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Receiver'])
  }
}

// Results, heartbeats, and what the worker announces of itself.
resource send 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(results.id, workerIdentityName, roles['Azure Service Bus Data Sender'])
  scope: results
  properties: {
    principalId: workerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Sender'])
  }
}

// At the topic, not only at the subscription: reading counts is a request to the
// management side of the bus, and only roles from there up are known to be enough.
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
