// Second stage, Functions app: scheduler, orchestrator and admin API in one process, its
// storage account, Cosmos DB, its Service Bus subscriptions, its identity and its rights,
// and the alerts. What the first stage made is found by its names.
//
// Whoever deploys this needs the right to assign roles in the resource group.

targetScope = 'resourceGroup'

@description('Prefix of all names, as in the first stage.')
@minLength(2)
@maxLength(11)
param name string = 'matoolkit'

@description('Which of several deployments this is, as in the first stage.')
@minLength(2)
@maxLength(8)
param environmentName string

@description('Region of everything, as in the first stage.')
param location string = resourceGroup().location

@description('Tags of everything, besides application and environment.')
param tags object = {}

@description('True: everything is reached by private endpoints in the network of the first stage, and from outside only what is allowed below. False: public addresses, roles only. As in the first stage.')
param privateNetwork bool

@description('Addresses from which the package may be deployed in the private mode: IPv4, single or as CIDR ranges up to /30. Empty: only from within the network.')
param deployerAddresses array = []

@description('Addresses that may call the API at its public address: IPv4, single or as CIDR ranges. Empty: none in the private mode, all in the public one.')
param apiAllowedAddresses array = []

@description('Three zones instead of one, for the app, its storage and Cosmos DB. Not every region has that for all three, and it cannot be changed later. Groups with instances that always wait then need two of them.')
param zoneRedundant bool = false

@description('Memory of one instance of the app in MB, and by it its share of processors.')
@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int = 2048

@description('The most instances: for the API, the timer and each of the two subscriptions, which have instances of their own.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('How many API requests one instance takes at once, before another is started.')
@minValue(1)
@maxValue(1000)
param httpConcurrency int = 50

@description('Instances that always wait for API requests. Without one, the first request after a pause waits for a start. Each is paid by the hour.')
@minValue(0)
@maxValue(20)
param alwaysReadyApi int = 0

@description('Instances that always wait for the timer.')
@minValue(0)
@maxValue(20)
param alwaysReadyTimer int = 0

@description('Instances that always wait for messages of orchestrator-events.')
@minValue(0)
@maxValue(20)
param alwaysReadyEvents int = 0

@description('Instances that always wait for messages of worker-results.')
@minValue(0)
@maxValue(20)
param alwaysReadyResults int = 0

@description('Let the platform read how many messages wait, so that it starts instances faster. It does that as the app, which then could also change its two subscriptions: Data Owner there, instead of Data Receiver. A deployment takes no role away: who sets it back to false does that by hand.')
param scaleByMessageCount bool = false

@description('How Cosmos DB is paid: serverless, by request and with 5,000 RU/s to begin with; or autoscale. It cannot be changed later.')
@allowed([
  'serverless'
  'autoscale'
])
param cosmosCapacity string = 'serverless'

@description('The most RU/s of autoscale, in steps of 1,000; a tenth of it is always paid.')
@minValue(1000)
@maxValue(1000000)
param cosmosMaximumThroughput int = 4000

@description('How far back Cosmos DB can be restored to any moment. 7 days cost nothing, 30 are paid by the amount of data.')
@allowed([
  'Continuous7Days'
  'Continuous30Days'
])
param cosmosBackup string = 'Continuous7Days'

@description('Tenants whose users may call the API.')
@minLength(1)
param entraTenantIds array = [
  tenant().tenantId
]

@description('Application id of the API\'s registration in Entra ID.')
@minLength(36)
@maxLength(36)
param entraClientId string

@description('Audience of its tokens.')
@minLength(1)
param entraAudience string = 'api://${entraClientId}'

@description('Connection strings of data sources: name of the setting, as runbooks give it, to name of the secret in the Key Vault. The secrets have to be there. A deployment takes no right away: for a secret that is left out later, that is done by hand.')
param dataSourceSecrets object = {}

@description('Connections of data sources that are no secrets, such as the id of a warehouse or the URL of a blob that the app reads as itself: name of the setting, as runbooks give it, to its value. Runbooks may name these settings and those of dataSourceSecrets, and no others.')
param dataSourceSettings object = {}

@description('Name of the Key Vault secret with the key that the handler encrypts secret values of members with; empty: runbooks with secrets are refused. The secret has to be there.')
param secretsKeyName string = ''

@description('An OpenTelemetry collector that the host and the handler send traces and figures to as well, such as https://collector.example.com; empty for none.')
param otlpEndpoint string = ''

@description('Name of the Key Vault secret with the headers that the collector asks for, as name=value; empty for none.')
param otlpHeadersSecretName string = ''

@description('The least that the handler logs. Alerts look for lines of the level info, so that it cannot be less.')
@allowed([
  'debug'
  'info'
])
param logLevel string = 'info'

@description('How long a worker that was scaled to zero may take to start, in seconds, before jobs that wait for it can fail.')
@minValue(1)
@maxValue(1000000)
param workerStartupSeconds int = 600

@description('Further settings of the handler, such as API_REQUESTS_PER_SECOND. No secrets, and nothing of data sources: those are dataSourceSecrets and dataSourceSettings.')
param extraSettings object = {}

@description('E-mail addresses that are told of alerts.')
param alertEmails array = []

@description('Resource ids of action groups that are there already and are told as well, such as of who is on call.')
param alertActionGroupIds array = []

@description('False: the alerts are there, and nobody is told. Before a package is deployed one of them goes off, within half an hour: nothing is heard of the scheduler. It resolves itself when the scheduler ticks.')
param alertsEnabled bool = true

@description('By how many seconds something may be late. What was lost is made up for within seven minutes; what is later was not. Workers that answer nothing are told of anyway.')
@minValue(60)
param stuckStepsSeconds int = 600

@description('For how long, in seconds, a message may wait for the handler. One that waits out an outage of Cosmos DB does so for nearly eight minutes.')
@minValue(60)
param oldestMessageSeconds int = 900

@description('For how long nothing may be heard of the scheduler, which ticks every five minutes.')
@allowed([
  'PT15M'
  'PT30M'
  'PT1H'
])
param missingTicksWindow string = 'PT15M'

@description('How many ticks of 15 minutes may fail, of three.')
@minValue(0)
@maxValue(2)
param failingTicks int = 1

@description('How many comparisons of a runbook with its data source may fail in half an hour, of six.')
@minValue(0)
@maxValue(5)
param failingSyncs int = 2

@description('How many dead letters a topic may have for longer than 15 minutes.')
@minValue(0)
param deadLetters int = 0

@description('How many requests Service Bus may refuse in 15 minutes because there are too many.')
@minValue(0)
param serviceBusThrottledRequests int = 100

@description('How much of its processors a Premium namespace may use over 15 minutes, in percent.')
@minValue(1)
@maxValue(100)
param serviceBusCpuPercent int = 80

@description('How many requests Cosmos DB may refuse in 15 minutes because they ask for too much. Some are as it should be: they are sent again.')
@minValue(0)
param cosmosThrottledRequests int = 1000

@description('How many lines of trouble with starting or scaling workers there may be in 15 minutes.')
@minValue(0)
param workerTroubles int = 5

var base = '${name}-${environmentName}'
var allTags = union(
  {
    application: name
    environment: environmentName
  },
  tags
)

// Headers are a key to the collector, so they come from the vault as well.
var secretSettings = union(
  dataSourceSecrets,
  empty(otlpHeadersSecretName)
    ? {}
    : {
        OTEL_EXPORTER_OTLP_HEADERS: otlpHeadersSecretName
      }
)

// The handler reads the key itself, to know its versions.
var readableSecrets = union(
  map(items(secretSettings), item => item.value),
  empty(secretsKeyName) ? [] : [ secretsKeyName ]
)

// All HTTP functions share a group of instances; each other function has its own.
var alwaysReady = filter(
  [
    {
      name: 'http'
      instanceCount: alwaysReadyApi
    }
    {
      name: 'function:scheduler-timer'
      instanceCount: alwaysReadyTimer
    }
    {
      name: 'function:orchestrator-events'
      instanceCount: alwaysReadyEvents
    }
    {
      name: 'function:worker-results'
      instanceCount: alwaysReadyResults
    }
  ],
  group => group.instanceCount > 0
)

var subnetIds = {
  functions: privateNetwork
    ? resourceId('Microsoft.Network/virtualNetworks/subnets', '${base}-vnet', 'snet-functions')
    : ''
  privateEndpoints: privateNetwork
    ? resourceId('Microsoft.Network/virtualNetworks/subnets', '${base}-vnet', 'snet-private-endpoints')
    : ''
}

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' existing = {
  name: '${base}-log'
}

resource bus 'Microsoft.ServiceBus/namespaces@2024-01-01' existing = {
  name: '${base}-bus'
}

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' existing = {
  name: '${base}-kv'
}

// Made before the app, so that its rights are there when it first starts.
module identity '../../shared/identity.bicep' = {
  name: '${base}-func-id'
  params: {
    identityName: '${base}-func-id'
    location: location
    tags: allTags
  }
}

module telemetry 'telemetry.bicep' = {
  name: '${base}-func-telemetry'
  params: {
    insightsName: '${base}-appi'
    principalId: identity.outputs.principalId
  }
}

module storage 'storage.bicep' = {
  name: '${base}-func-storage'
  params: {
    accountName: '${name}${environmentName}st'
    location: location
    tags: allTags
    zoneRedundant: zoneRedundant
    privateNetwork: privateNetwork
    deployerAddresses: deployerAddresses
    privateEndpointSubnetId: subnetIds.privateEndpoints
    privateEndpointPrefix: '${base}-pe-st'
    principalId: identity.outputs.principalId
    workspaceId: workspace.id
  }
}

module cosmos 'cosmos.bicep' = {
  name: '${base}-func-cosmos'
  params: {
    accountName: '${base}-cosmos'
    location: location
    tags: allTags
    capacity: cosmosCapacity
    maximumThroughput: cosmosMaximumThroughput
    backup: cosmosBackup
    zoneRedundant: zoneRedundant
    privateNetwork: privateNetwork
    privateEndpointSubnetId: subnetIds.privateEndpoints
    privateEndpointName: '${base}-pe-cosmos'
    principalId: identity.outputs.principalId
    workspaceId: workspace.id
  }
}

module subscriptions 'subscriptions.bicep' = {
  name: '${base}-func-subscriptions'
  params: {
    namespaceName: bus.name
    principalId: identity.outputs.principalId
    scaleByMessageCount: scaleByMessageCount
  }
}

module secrets 'secrets.bicep' = if (!empty(readableSecrets)) {
  name: '${base}-func-secrets'
  params: {
    vaultName: vault.name
    // Two settings may name one secret.
    secretNames: union(readableSecrets, [])
    principalId: identity.outputs.principalId
  }
}

module app 'app.bicep' = {
  name: '${base}-func-app'
  params: {
    planName: '${base}-plan'
    appName: '${base}-func'
    location: location
    tags: allTags
    zoneRedundant: zoneRedundant
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    httpConcurrency: httpConcurrency
    alwaysReady: alwaysReady
    privateNetwork: privateNetwork
    apiAllowedAddresses: apiAllowedAddresses
    deployerAddresses: deployerAddresses
    functionsSubnetId: subnetIds.functions
    privateEndpointSubnetId: subnetIds.privateEndpoints
    privateEndpointName: '${base}-pe-api'
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    storageAccountName: storage.outputs.accountName
    deploymentContainerUrl: storage.outputs.deploymentContainerUrl
    serviceBusHostName: '${bus.name}.servicebus.windows.net'
    cosmosEndpoint: cosmos.outputs.endpoint
    cosmosDatabase: cosmos.outputs.databaseName
    cosmosContainer: cosmos.outputs.containerName
    insightsConnectionString: telemetry.outputs.connectionString
    entraTenantIds: entraTenantIds
    entraClientId: entraClientId
    entraAudience: entraAudience
    vaultUri: vault.properties.vaultUri
    secretSettings: secretSettings
    logLevel: logLevel
    workerStartupSeconds: workerStartupSeconds
    otlpEndpoint: otlpEndpoint
    dataSources: map(items(union(dataSourceSecrets, dataSourceSettings)), source => source.key)
    extraSettings: union(
      extraSettings,
      dataSourceSettings,
      empty(secretsKeyName)
        ? {}
        : {
            KEY_VAULT_URL: vault.properties.vaultUri
            SECRETS_KEY_NAME: secretsKeyName
          }
    )
    workspaceId: workspace.id
  }
  // Else the host could start before it may take messages, and look broken for minutes.
  dependsOn: [
    subscriptions
    secrets
  ]
}

module alerts '../alerts/alerts.bicep' = {
  name: '${base}-func-alerts'
  params: {
    base: base
    location: location
    tags: allTags
    workspaceId: workspace.id
    serviceBusNamespaceId: bus.id
    serviceBusPremium: privateNetwork
    cosmosAccountId: cosmos.outputs.accountId
    alertEmails: alertEmails
    actionGroupIds: alertActionGroupIds
    enabled: alertsEnabled
    stuckStepsSeconds: stuckStepsSeconds
    oldestMessageSeconds: oldestMessageSeconds
    missingTicksWindow: missingTicksWindow
    failingTicks: failingTicks
    failingSyncs: failingSyncs
    deadLetters: deadLetters
    serviceBusThrottledRequests: serviceBusThrottledRequests
    serviceBusCpuPercent: serviceBusCpuPercent
    cosmosThrottledRequests: cosmosThrottledRequests
    workerTroubles: workerTroubles
  }
  dependsOn: [
    app
  ]
}

@description('Name of the Functions app, to deploy the package to.')
output functionAppName string = app.outputs.appName

@description('Address of the API, for the command line\'s configuration.')
output apiUrl string = app.outputs.apiUrl

@description('Name of the Cosmos DB account.')
output cosmosAccountName string = cosmos.outputs.accountName

@description('Address of the Cosmos DB account.')
output cosmosEndpoint string = cosmos.outputs.endpoint

@description('Name of the storage account.')
output storageAccountName string = storage.outputs.accountName

@description('Name of the container, of that account, that packages are deployed to.')
output deploymentContainer string = storage.outputs.deploymentContainer

@description('Name of the app\'s identity.')
output identityName string = '${base}-func-id'

@description('Client id of the app\'s identity, by which databases that are data sources know it.')
output identityClientId string = identity.outputs.clientId
