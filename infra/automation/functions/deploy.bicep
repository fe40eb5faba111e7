// Second stage, Functions app: scheduler, orchestrator and admin API in one app, with its storage
// account, Cosmos DB, Service Bus subscriptions, identity, roles and alerts. It finds the resources
// of the first stage by name. You need the permission to assign roles in the resource group.

targetScope = 'resourceGroup'

@description('Prefix of all names. As in the first stage.')
@minLength(2)
@maxLength(11)
param name string = 'matoolkit'

@description('Name of this deployment. As in the first stage.')
@minLength(2)
@maxLength(8)
param environmentName string

@description('Region of all resources. As in the first stage.')
param location string = resourceGroup().location

@description('Tags of all resources, in addition to application and environment.')
param tags object = {}

@description('True: private endpoints in the network of the first stage. False: public endpoints, protected by roles. As in the first stage.')
param privateNetwork bool

@description('With privateNetwork: IPv4 addresses or CIDR ranges up to /30 that may deploy the package. Empty: only from within the network.')
param deployerAddresses array = []

@description('IPv4 addresses or CIDR ranges that may call the API at its public endpoint. Default: none with privateNetwork, all without.')
param apiAllowedAddresses array = []

@description('Use three zones for the app, its storage and Cosmos DB. Not every region supports this. Two instances of each group are then always ready and billed. It cannot be changed later.')
param zoneRedundant bool = false

@description('Memory of one instance in MB, which also determines its CPU.')
@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int = 2048

@description('Maximum instances of each group: the API, the timer and each of the two subscriptions.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Concurrent API requests of one instance, before another starts.')
@minValue(1)
@maxValue(1000)
param httpConcurrency int = 50

@description('Always-ready instances for API requests, paid by the hour. Without one, the first request after a pause waits for a start.')
@minValue(0)
@maxValue(20)
param alwaysReadyApi int = 0

@description('Always-ready instances for the timer.')
@minValue(0)
@maxValue(20)
param alwaysReadyTimer int = 0

@description('Always-ready instances for the function orchestrator-events.')
@minValue(0)
@maxValue(20)
param alwaysReadyEvents int = 0

@description('Always-ready instances for the function worker-results.')
@minValue(0)
@maxValue(20)
param alwaysReadyResults int = 0

@description('Let the platform count waiting messages, so that it scales faster. The app then needs Data Owner on its two subscriptions instead of Data Receiver. After you set it back to false, remove the role by hand.')
param scaleByMessageCount bool = false

@description('Serverless (billed by request, up to 5,000 RU/s at first) or autoscale. It cannot be changed later.')
@allowed([
  'serverless'
  'autoscale'
])
param cosmosCapacity string = 'serverless'

@description('Maximum RU/s of autoscale, in steps of 1,000; a tenth is always billed.')
@minValue(1000)
@maxValue(1000000)
param cosmosMaximumThroughput int = 4000

@description('Period of continuous backup. 7 days are free, 30 are billed by the amount of data.')
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

@description('Client id of the app registration of the admin API.')
@minLength(36)
@maxLength(36)
param entraClientId string

@description('Audience of the tokens for the admin API.')
@minLength(1)
param entraAudience string = 'api://${entraClientId}'

@description('Client id of the app registration of pages that call the admin API, such as the console. Empty: no page can sign in.')
@maxLength(36)
param consoleClientId string = ''

@description('Connection strings of data sources: name of the setting to name of the Key Vault secret, which must exist. If you remove an entry, remove the role on the secret by hand.')
param dataSourceVaultSettings object = {}

@description('Connections of data sources without a secret, such as a warehouse id or the URL of a blob: name of the setting to value. Runbooks can use only these settings and those of dataSourceVaultSettings.')
param dataSourceSettings object = {}

@description('URLs and keys of notifications: name of the setting to name of the Key Vault secret, which must exist. Notification rules can use only these settings.')
param notificationVaultSettings object = {}

@description('Name of the Key Vault secret with the encryption key of secret values, which must exist. Empty: runbooks with secrets are refused.')
param encryptionKeyName string = ''

@description('OpenTelemetry collector that also receives traces and metrics of the host and the handler, such as https://collector.example.com.')
param otlpEndpoint string = ''

@description('Name of the Key Vault secret with the headers for the collector, as name=value.')
param otlpHeadersSecretName string = ''

@description('Minimum level of logs. Alerts need the level info.')
@allowed([
  'debug'
  'info'
])
param logLevel string = 'info'

@description('Seconds that a worker scaled to zero may take to start, before jobs that wait for it can fail.')
@minValue(1)
@maxValue(1000000)
param workerStartupSeconds int = 600

@description('Additional settings of the handler, such as API_REQUESTS_PER_SECOND. No secrets, and no settings of data sources.')
param extraSettings object = {}

@description('Names of topics and subscriptions that are not the default: setting to name, such as WORKER_JOBS_TOPIC to jobs. As in the first stage.')
param busNames object = {}

@description('Settings of the container scaler, such as ACI_IMAGE, as the outputs of its stage and docs/deploy.md say. No secrets. Empty: the scaler is off, and its function is disabled.')
param containerScalerSettings object = {}

@description('Secrets of the container scaler in Key Vault: setting, such as ACR_PASSWORD or INSTANCE_API_KEY, to the name of the secret.')
param containerScalerVaultSettings object = {}

@description('E-mail addresses that receive alerts. Alerts require these or alertActionGroupIds.')
param alertEmails array = []

@description('Resource ids of existing action groups that also receive alerts.')
param alertActionGroupIds array = []

@description('False: alerts notify no one. Until a package is deployed, the alert missing-ticks is active.')
param alertsEnabled bool = true

@description('Delay in seconds after which steps count as stuck. The scheduler repeats lost messages within seven minutes. Silent workers always raise the alert.')
@minValue(60)
param stuckStepsSeconds int = 600

@description('Age in seconds at which detached steps that have not ended raise an alert: longer than their timeouts and retries take.')
@minValue(60)
param openDetachedSeconds int = 7200

@description('Maximum age of a waiting message in seconds. A message that waits out an outage of Cosmos DB can be eight minutes old.')
@minValue(60)
param oldestMessageSeconds int = 900

@description('Period without a run of the scheduler, which runs every five minutes.')
@allowed([
  'PT15M'
  'PT30M'
  'PT1H'
])
param missingTicksWindow string = 'PT15M'

@description('Failed runs of the scheduler in 15 minutes, of three, that raise no alert.')
@minValue(0)
@maxValue(2)
param failingTicks int = 1

@description('Failed syncs of a runbook in half an hour, of six, that raise no alert.')
@minValue(0)
@maxValue(5)
param failingSyncs int = 2

@description('Dead letters of a topic, for longer than 15 minutes, that raise no alert.')
@minValue(0)
param deadLetters int = 0

@description('Throttled requests of Service Bus in 15 minutes that raise no alert.')
@minValue(0)
param serviceBusThrottledRequests int = 100

@description('CPU of a Premium namespace over 15 minutes, in percent, that raises no alert.')
@minValue(1)
@maxValue(100)
param serviceBusCpuPercent int = 80

@description('Throttled requests of Cosmos DB in 15 minutes that raise no alert. The handler repeats them.')
@minValue(0)
param cosmosThrottledRequests int = 1000

@description('Log lines about failed starts or scaling of workers in 15 minutes that raise no alert.')
@minValue(0)
param workerTroubles int = 5

@description('Requests to the admin API in 15 minutes that end with a server error and raise no alert.')
@minValue(0)
param apiErrors int = 5

@description('Budget of the resource group for a month, in the currency of the subscription. The action group is notified at 80 % and at 100 %. 0: none.')
@minValue(0)
param monthlyBudget int = 0

@description('With monthlyBudget: first day of the month in which you first deploy it, such as 2026-12-01. It cannot be changed later.')
param budgetStart string = ''

@description('Locks that prevent the deletion of resources that store data, and of roles on them. The deployer needs the role Locks Contributor.')
param deleteLocks bool = false

var base = '${name}-${environmentName}'
var identityName = '${base}-func-id'
// The settings of names, with their defaults. Topics are compared without case, as Service Bus does;
// the prefix and an id of 43 characters make a subscription of 50.
var defaultNames = any(loadJsonContent('../../bus-names.json'))
var givenNames = union(defaultNames, busNames)
var topicNames = map(
  filter(items(givenNames), item => endsWith(item.key, '_TOPIC')),
  item => toLower(item.value)
)
var settingNames = length(givenNames) > length(defaultNames)
  ? fail('busNames: the settings are ${join(map(items(defaultNames), item => item.key), ', ')}')
  : length(union(topicNames, [])) < length(topicNames)
      ? fail('busNames: give each topic its own name')
      : length(givenNames.WORKER_SUBSCRIPTION_PREFIX) > 7
          ? fail('busNames: WORKER_SUBSCRIPTION_PREFIX has at most 7 characters')
          : givenNames

// From the names in topology.json to those in the namespace.
var names = toObject(items(defaultNames), item => item.value, item => settingNames[item.key])

var allTags = union(
  {
    application: name
    environment: environmentName
  },
  tags
)

// The headers authenticate at the collector, so they are a secret.
var vaultSettings = union(
  dataSourceVaultSettings,
  notificationVaultSettings,
  containerScalerVaultSettings,
  empty(otlpHeadersSecretName)
    ? {}
    : {
        OTEL_EXPORTER_OTLP_HEADERS: otlpHeadersSecretName
      }
)

// The handler reads the encryption key itself, with its versions.
var readableSecrets = union(
  map(items(vaultSettings), item => item.value),
  empty(encryptionKeyName) ? [] : [ encryptionKeyName ]
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

resource bus 'Microsoft.ServiceBus/namespaces@2026-01-01' existing = {
  name: '${base}-bus'
}

resource vault 'Microsoft.KeyVault/vaults@2025-05-01' existing = {
  name: '${base}-kv'
}

// The identity exists before the app, so that its roles are in effect at the first start.
module identity '../../shared/identity.bicep' = {
  name: '${base}-func-id'
  params: {
    identityName: identityName
    location: location
    tags: allTags
  }
}

module telemetry '../../shared/telemetry.bicep' = {
  name: '${base}-func-telemetry'
  params: {
    insightsName: '${base}-appi'
    identityName: identityName
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
    identityName: identityName
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
    deleteLock: deleteLocks
    identityName: identityName
    principalId: identity.outputs.principalId
    workspaceId: workspace.id
  }
}

module subscriptions 'subscriptions.bicep' = {
  name: '${base}-func-subscriptions'
  params: {
    namespaceName: bus.name
    names: names
    identityName: identityName
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
    identityName: identityName
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
    identityId: resourceId('Microsoft.ManagedIdentity/userAssignedIdentities', identityName)
    identityClientId: identity.outputs.clientId
    storageAccountName: storage.outputs.accountName
    deploymentContainerUrl: storage.outputs.deploymentContainerUrl
    busNames: settingNames
    serviceBusHostName: '${bus.name}.servicebus.windows.net'
    cosmosEndpoint: cosmos.outputs.endpoint
    cosmosDatabase: cosmos.outputs.databaseName
    cosmosContainer: cosmos.outputs.containerName
    insightsConnectionString: telemetry.outputs.connectionString
    entraTenantIds: entraTenantIds
    entraClientId: entraClientId
    entraAudience: entraAudience
    consoleClientId: consoleClientId
    vaultUri: vault.properties.vaultUri
    vaultSettings: vaultSettings
    logLevel: logLevel
    workerStartupSeconds: workerStartupSeconds
    otlpEndpoint: otlpEndpoint
    dataSources: map(items(union(dataSourceVaultSettings, dataSourceSettings)), source => source.key)
    notificationSettings: map(items(notificationVaultSettings), setting => setting.key)
    containerScalerSettings: containerScalerSettings
    extraSettings: union(
      extraSettings,
      dataSourceSettings,
      empty(encryptionKeyName)
        ? {}
        : {
            KEY_VAULT_URL: vault.properties.vaultUri
            SECRETS_KEY_NAME: encryptionKeyName
          }
    )
    workspaceId: workspace.id
  }
  // The host needs these roles when it starts.
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
    cosmosAccountId: resourceId('Microsoft.DocumentDB/databaseAccounts', '${base}-cosmos')
    alertEmails: alertEmails
    actionGroupIds: alertActionGroupIds
    enabled: alertsEnabled && empty(alertEmails) && empty(alertActionGroupIds)
      ? fail('alertEmails: name who receives alerts, or set alertsEnabled to false')
      : alertsEnabled
    stuckStepsSeconds: stuckStepsSeconds
    openDetachedSeconds: openDetachedSeconds
    oldestMessageSeconds: oldestMessageSeconds
    missingTicksWindow: missingTicksWindow
    failingTicks: failingTicks
    failingSyncs: failingSyncs
    deadLetters: deadLetters
    serviceBusThrottledRequests: serviceBusThrottledRequests
    serviceBusCpuPercent: serviceBusCpuPercent
    cosmosThrottledRequests: cosmosThrottledRequests
    workerTroubles: workerTroubles
    apiErrors: apiErrors
    monthlyBudget: monthlyBudget
    budgetStart: budgetStart
  }
  dependsOn: [
    app
  ]
}

@description('Name of the Functions app.')
output functionAppName string = app.outputs.appName

@description('Address of the API.')
output apiUrl string = app.outputs.apiUrl

@description('Name of the Cosmos DB account.')
output cosmosAccountName string = cosmos.outputs.accountName

@description('Address of the Cosmos DB account.')
output cosmosEndpoint string = cosmos.outputs.endpoint

@description('Name of the storage account.')
output storageAccountName string = storage.outputs.accountName

@description('Name of the container of deployment packages in the storage account.')
output deploymentContainer string = storage.outputs.deploymentContainer

@description('Name of the app\'s identity.')
output identityName string = identityName

@description('Client id of the app\'s identity, for access to data sources.')
output identityClientId string = identity.outputs.clientId
