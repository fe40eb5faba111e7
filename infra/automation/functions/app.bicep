// The Functions app in a Flex Consumption plan, with the handler as a custom handler.
//
// Flex Consumption configures the runtime in functionAppConfig and refuses FUNCTIONS_WORKER_RUNTIME,
// FUNCTIONS_EXTENSION_VERSION, WEBSITE_RUN_FROM_PACKAGE, linuxFxVersion, ftpsState and
// vnetRouteAllEnabled. There is no healthCheckPath: its requests would keep an instance of the API
// running, and do not test the instances of the timer and the messages.
//
// A deployment removes settings that you changed by hand. It keeps the package, which is a blob.

@description('Name of the plan.')
param planName string

@description('Name of the app, part of its address.')
@minLength(2)
@maxLength(60)
param appName string

@description('Region of the plan and the app.')
param location string

@description('Tags of the plan, the app and the private endpoint.')
param tags object

@description('True: use three availability zones.')
param zoneRedundant bool

@description('Memory of one instance in MB, which also determines its CPU.')
@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int

@description('Maximum instances of each group.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int

@description('Concurrent API requests of one instance, before another starts.')
@minValue(1)
@maxValue(1000)
param httpConcurrency int

@description('Always-ready instances: name (http, or function:NAME) and instanceCount of each group.')
param alwaysReady array

@description('True: outbound traffic goes through the network, and only allowed addresses may use the public endpoint.')
param privateNetwork bool

@description('Addresses or CIDR ranges that may call the API at its public endpoint.')
param apiAllowedAddresses array

@description('Addresses or CIDR ranges that may deploy at the public endpoint in private mode.')
param deployerAddresses array

@description('Resource id of the subnet of the app; empty in the public mode.')
param functionsSubnetId string

@description('Resource id of the subnet of private endpoints; empty in the public mode.')
param privateEndpointSubnetId string

@description('Name of the private endpoint.')
param privateEndpointName string

@description('Resource id of the app\'s identity.')
param identityId string

@description('Client id of the app\'s identity.')
param identityClientId string

@description('Name of the host\'s storage account.')
param storageAccountName string

@description('Address of the container of deployment packages.')
param deploymentContainerUrl string

@description('Host name of the Service Bus namespace.')
param serviceBusHostName string

@description('Address of the Cosmos DB account.')
param cosmosEndpoint string

@description('Name of the database.')
param cosmosDatabase string

@description('Name of the container.')
param cosmosContainer string

@description('Connection string of Application Insights, which is not a secret.')
param insightsConnectionString string

@description('Tenants whose users may call the API.')
@minLength(1)
param entraTenantIds array

@description('Client id of the app registration of the API.')
param entraClientId string

@description('Audience of tokens for the API.')
param entraAudience string

@description('Client id of the app registration of pages that call the API; empty: none.')
param consoleClientId string

@description('Address of the Key Vault, with a slash at the end.')
param vaultUri string

@description('Settings from Key Vault: name of the setting to name of the secret.')
param vaultSettings object

@description('Minimum level of logs.')
@allowed([
  'debug'
  'info'
  'warn'
  'error'
])
param logLevel string

@description('Seconds that a worker scaled to zero may take to start.')
param workerStartupSeconds int

@description('OpenTelemetry collector that also receives telemetry; empty: none.')
param otlpEndpoint string

@description('Settings with the names of topics and subscriptions.')
param busNames object

@description('Names of the settings that data sources of runbooks may use.')
param dataSources array

@description('Names of the settings that notification rules may use.')
param notificationSettings array

@description('Additional settings of the handler. They cannot replace settings of this template.')
param extraSettings object

@description('Settings of the container scaler. Empty: its function is disabled.')
param containerScalerSettings object

@description('Resource id of the Log Analytics workspace.')
param workspaceId string

var settings = union(
  extraSettings,
  // The app reads a new version within a day.
  toObject(
    items(vaultSettings),
    item => item.key,
    item => '@Microsoft.KeyVault(SecretUri=${vaultUri}secrets/${item.value})'
  ),
  empty(dataSources)
    ? {}
    : {
        DATA_SOURCES: join(dataSources, ',')
      },
  empty(notificationSettings)
    ? {}
    : {
        NOTIFICATION_SETTINGS: join(notificationSettings, ',')
      },
  // The default of the host is gRPC, which the handler does not support.
  empty(otlpEndpoint)
    ? {}
    : {
        OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpoint
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf'
      },
  empty(containerScalerSettings)
    ? {
        'AzureWebJobs.containerscaler.Disabled': 'true'
      }
    : containerScalerSettings,
  empty(consoleClientId)
    ? {}
    : {
        CONSOLE_CLIENT_ID: consoleClientId
      },
  // The triggers refer to these; the handler reads them too.
  busNames,
  {
    // Settings of the host.
    AzureWebJobsStorage__accountName: storageAccountName
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: identityClientId
    APPLICATIONINSIGHTS_CONNECTION_STRING: insightsConnectionString
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'Authorization=AAD;ClientId=${identityClientId}'

    // Settings of the triggers; the handler also reads the first.
    ServiceBusConnection__fullyQualifiedNamespace: serviceBusHostName
    ServiceBusConnection__credential: 'managedidentity'
    ServiceBusConnection__clientId: identityClientId

    // Settings of the handler.
    AZURE_CLIENT_ID: identityClientId
    COSMOS_ENDPOINT: cosmosEndpoint
    COSMOS_DATABASE: cosmosDatabase
    COSMOS_CONTAINER: cosmosContainer
    AzureAd__Instance: environment().authentication.loginEndpoint
    AzureAd__TenantId: join(entraTenantIds, ',')
    AzureAd__ClientId: entraClientId
    AzureAd__Audience: entraAudience
    LOG_LEVEL: logLevel
    WORKER_STARTUP_SECONDS: string(workerStartupSeconds)
  }
)

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true // Linux
    zoneRedundant: zoneRedundant
  }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: appName
  location: location
  tags: tags
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: privateNetwork ? functionsSubnetId : null
    publicNetworkAccess: privateNetwork && empty(apiAllowedAddresses) && empty(deployerAddresses) ? 'Disabled' : 'Enabled'
    functionAppConfig: {
      runtime: {
        name: 'custom'
        version: '1.0'
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: deploymentContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
        triggers: {
          http: {
            perInstanceConcurrency: httpConcurrency
          }
        }
      }
    }
    siteConfig: {
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      // These restrict the public endpoint only.
      ipSecurityRestrictionsDefaultAction: privateNetwork || !empty(apiAllowedAddresses) ? 'Deny' : 'Allow'
      ipSecurityRestrictions: [
        for (address, i) in apiAllowedAddresses: {
          name: 'api-${i}'
          priority: 100 + i
          action: 'Allow'
          ipAddress: contains(address, '/') ? address : '${address}/32'
        }
      ]
      scmIpSecurityRestrictionsUseMain: false
      scmIpSecurityRestrictionsDefaultAction: privateNetwork ? 'Deny' : 'Allow'
      scmIpSecurityRestrictions: [
        for (address, i) in deployerAddresses: {
          name: 'deployer-${i}'
          priority: 100 + i
          action: 'Allow'
          ipAddress: contains(address, '/') ? address : '${address}/32'
        }
      ]
      appSettings: map(items(settings), setting => {
        name: setting.key
        value: setting.value
      })
    }
  }
}

// Deployments need a token.
resource noDeploymentPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

resource noFtpPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
  // The app refuses concurrent changes.
  dependsOn: [
    noDeploymentPassword
  ]
}

module endpoint '../../shared/private-endpoint.bicep' = if (privateNetwork) {
  name: privateEndpointName
  dependsOn: [
    noFtpPassword
  ]
  params: {
    endpointName: privateEndpointName
    location: location
    tags: tags
    subnetId: privateEndpointSubnetId
    targetId: app.id
    groupId: 'sites'
    zoneName: 'privatelink.azurewebsites.net'
  }
}

// The logs of the app are in Application Insights: the category FunctionAppLogs would repeat them.
#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'log-analytics'
  scope: app
  properties: {
    workspaceId: workspaceId
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

@description('Name of the app.')
output appName string = app.name

@description('Address of the API.')
output apiUrl string = 'https://${app.properties.defaultHostName}'
