// The Service Bus namespace and its topics. The local broker uses the same topology.json.
//
// The duplicate detection of a topic, and the tier of the namespace, cannot be changed later.

@description('Name of the namespace. It must not end in -sb or -mgmt.')
@minLength(6)
@maxLength(50)
param namespaceName string

@description('Names of topics and subscriptions in the namespace, by their names in topology.json.')
param names object

@description('Region of the namespace.')
param location string

@description('Tags of the namespace and its private endpoint.')
param tags object

@description('True: Premium, with a private endpoint only. False: Standard, with a public endpoint.')
param privateNetwork bool

@description('Messaging units of Premium.')
@allowed([
  1
  2
  4
  8
  16
])
param capacity int

@description('Resource id of the subnet of private endpoints; empty in the public mode.')
param privateEndpointSubnetId string

@description('Name of the private endpoint.')
param privateEndpointName string

@description('A lock that prevents the deletion of the namespace.')
param deleteLock bool

@description('Resource id of the Log Analytics workspace.')
param workspaceId string

var topics = loadJsonContent('../topology.json').UserConfig.Namespaces[0].Topics

var logs = concat(
  [
    'OperationalLogs'
  ],
  // Only Premium has these.
  privateNetwork
    ? [
        'RuntimeAuditLogs'
        'VNetAndIPFilteringLogs'
      ]
    : []
)

resource bus 'Microsoft.ServiceBus/namespaces@2026-01-01' = {
  name: namespaceName
  location: location
  tags: tags
  sku: privateNetwork
    ? {
        name: 'Premium'
        tier: 'Premium'
        capacity: capacity
      }
    : {
        name: 'Standard'
        tier: 'Standard'
      }
  properties: {
    // No keys: access needs a token and a role.
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
  }
}

resource topic 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' = [
  for item in topics: {
    parent: bus
    name: names[item.Name]
    properties: {
      defaultMessageTimeToLive: item.Properties.DefaultMessageTimeToLive
      requiresDuplicateDetection: item.Properties.RequiresDuplicateDetection
      duplicateDetectionHistoryTimeWindow: item.Properties.DuplicateDetectionHistoryTimeWindow
      maxSizeInMegabytes: 1024
      enablePartitioning: false
      enableBatchedOperations: true
    }
  }
]

// The namespace refuses a change during another one, so the endpoint waits for the topics.
module endpoint 'private-endpoint.bicep' = if (privateNetwork) {
  name: privateEndpointName
  dependsOn: [
    topic
  ]
  params: {
    endpointName: privateEndpointName
    location: location
    tags: tags
    subnetId: privateEndpointSubnetId
    targetId: bus.id
    groupId: 'namespace'
    zoneName: 'privatelink.servicebus.windows.net'
  }
}

#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'log-analytics'
  scope: bus
  properties: {
    workspaceId: workspaceId
    logAnalyticsDestinationType: 'Dedicated'
    logs: [
      for category in logs: {
        category: category
        enabled: true
      }
    ]
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (deleteLock) {
  name: 'no-delete'
  scope: bus
  properties: {
    level: 'CanNotDelete'
    notes: 'It holds the messages of running batches.'
  }
}

@description('Host name of the namespace.')
output hostName string = '${bus.name}.servicebus.windows.net'

@description('Names of the topics.')
output topicNames array = map(topics, item => names[item.Name])
