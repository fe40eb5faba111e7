// The Service Bus subscriptions of the Functions app, and its roles to receive and send.

@description('Name of the namespace.')
param namespaceName string

@description('Names of topics and subscriptions in the namespace, by their names in topology.json.')
param names object

@description('Name of the app\'s identity, from which the names of role assignments are derived.')
param identityName string

@description('Object id of the app\'s identity.')
param principalId string

@description('True: the app gets Data Owner on its subscriptions, to read the number of waiting messages.')
param scaleByMessageCount bool

var roles = {
  serviceBusDataOwner: '090c5cfd-751d-490a-894a-3ce6f1109419'
  serviceBusDataReceiver: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
  serviceBusDataSender: '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39'
}

var subscriptionName = 'orchestrator'
// Without any() the compiler gives each topic its own type.
var topics = any(loadJsonContent('../../topology.json').UserConfig.Namespaces[0].Topics)

// The topics that the app receives from, each with its subscription.
var consumed = map(
  filter(topics, topic => contains(map(topic.Subscriptions, one => one.Name), subscriptionName)),
  topic => {
    topic: topic.Name
    subscription: filter(topic.Subscriptions, one => one.Name == subscriptionName)[0]
  }
)

resource bus 'Microsoft.ServiceBus/namespaces@2026-01-01' existing = {
  name: namespaceName
}

resource consumedTopics 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' existing = [
  for item in consumed: {
    parent: bus
    name: names[item.topic]
  }
]

resource subscriptions 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2026-01-01' = [
  for (item, i) in consumed: {
    parent: consumedTopics[i]
    name: names[subscriptionName]
    properties: {
      lockDuration: item.subscription.Properties.LockDuration
      maxDeliveryCount: item.subscription.Properties.MaxDeliveryCount
      defaultMessageTimeToLive: item.subscription.Properties.DefaultMessageTimeToLive
      deadLetteringOnMessageExpiration: item.subscription.Properties.DeadLetteringOnMessageExpiration
      requiresSession: false
      enableBatchedOperations: true
    }
  }
]

// The trigger needs a role on the subscription; a role on the topic is not enough. With Data Owner
// the platform reads the number of waiting messages and starts all instances that they need. With
// Data Receiver it sees only the age of the oldest, and starts instances one by one.
resource receive 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (item, i) in consumed: {
    name: guid(subscriptions[i].id, identityName, scaleByMessageCount ? roles.serviceBusDataOwner : roles.serviceBusDataReceiver)
    scope: subscriptions[i]
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        scaleByMessageCount ? roles.serviceBusDataOwner : roles.serviceBusDataReceiver
      )
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]

// The app sends to all topics; to the topic of results it sends messages that an administrator replays.
resource sentTopics 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' existing = [
  for topic in topics: {
    parent: bus
    name: names[topic.Name]
  }
]

resource send 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (topic, i) in topics: {
    name: guid(sentTopics[i].id, identityName, roles.serviceBusDataSender)
    scope: sentTopics[i]
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.serviceBusDataSender)
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]

@description('The subscriptions of the app, as topic/subscription.')
output subscriptions array = map(consumed, item => '${names[item.topic]}/${names[subscriptionName]}')
