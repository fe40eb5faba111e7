// The Functions app in a Flex Consumption plan, which starts the handler as a custom handler.
//
// Flex takes fewer settings than other plans: what runs is said in functionAppConfig, not in
// FUNCTIONS_WORKER_RUNTIME, FUNCTIONS_EXTENSION_VERSION, WEBSITE_RUN_FROM_PACKAGE or
// linuxFxVersion; it has no FTP, and refuses ftpsState; all that leaves the app goes through
// its subnet, and vnetRouteAllEnabled is refused. There is no healthCheckPath: its calls
// would keep an instance awake for the API and tell nothing of those for the timer and the
// messages, which are others. Nor is there CORS: no browser calls the API.
//
// What is set at the app by hand, also its settings, is lost with the next deployment of this:
// all of it is a parameter. The package stays: it is a blob.

@description('Name of the plan.')
param planName string

@description('Name of the app; its address is made of it.')
@minLength(2)
@maxLength(60)
param appName string

@description('Region of the plan and the app.')
param location string

@description('Tags of the plan, the app and the private endpoint.')
param tags object

@description('Instances in three zones.')
param zoneRedundant bool

@description('Memory of an instance, and by it its share of processors.')
@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int

@description('The most instances, of each trigger\'s group and so of the app.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int

@description('How many API requests one instance takes at once, before another is started.')
@minValue(1)
@maxValue(1000)
param httpConcurrency int

@description('Instances that always wait, as name and instanceCount: http, or function: and the function\'s name.')
param alwaysReady array

@description('Whether the app leaves through the network, and the public is let in by address only.')
param privateNetwork bool

@description('Addresses or ranges that may call the API from outside.')
param apiAllowedAddresses array

@description('Addresses or ranges that may deploy from outside in private mode.')
param deployerAddresses array

@description('Resource id of the subnet that the app leaves through; empty in the public mode.')
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

@description('Address of the container that packages are deployed to.')
param deploymentContainerUrl string

@description('Host name of the Service Bus namespace.')
param serviceBusHostName string

@description('Address of the Cosmos DB account.')
param cosmosEndpoint string

@description('Name of the database.')
param cosmosDatabase string

@description('Name of the container.')
param cosmosContainer string

@description('Connection string of Application Insights, which says where it is and is no secret.')
param insightsConnectionString string

@description('Tenants whose users may call the API.')
@minLength(1)
param entraTenantIds array

@description('Application id of the API\'s registration.')
param entraClientId string

@description('Audience of its tokens.')
param entraAudience string

@description('Address of the Key Vault, with a slash at its end.')
param vaultUri string

@description('Settings that are secrets of the Key Vault: name of the setting to name of the secret.')
param vaultSettings object

@description('The least that the handler logs.')
@allowed([
  'debug'
  'info'
  'warn'
  'error'
])
param logLevel string

@description('How long a worker that was scaled to zero may take to start, in seconds.')
param workerStartupSeconds int

@description('An OpenTelemetry collector to send to as well; empty for none.')
param otlpEndpoint string

@description('Names of the settings that runbooks may name in their data sources.')
param dataSources array

@description('Further settings of the handler. Those that are set here anyway stay as they are.')
param extraSettings object

@description('Resource id of the workspace that takes the logs.')
param workspaceId string

var settings = union(
  extraSettings,
  // The app fetches them with keyVaultReferenceIdentity, anew within a day of a change.
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
  // The host would speak gRPC to the collector, the handler speaks this only.
  empty(otlpEndpoint)
    ? {}
    : {
        OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpoint
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf'
      },
  {
    // Of the host. The app has no identity of its own, so each connection says which.
    AzureWebJobsStorage__accountName: storageAccountName
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: identityClientId
    APPLICATIONINSIGHTS_CONNECTION_STRING: insightsConnectionString
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'Authorization=AAD;ClientId=${identityClientId}'

    // Of the host's triggers; the handler reads the first as well.
    ServiceBusConnection__fullyQualifiedNamespace: serviceBusHostName
    ServiceBusConnection__credential: 'managedidentity'
    ServiceBusConnection__clientId: identityClientId

    // Of the handler.
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
    // Linux.
    reserved: true
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
      // These hold for the public address; who comes by the private endpoint is let in.
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

// Deployments come with a token: no user name and password opens the deployment site.
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
  // The app refuses a change while another one is made.
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

// The same lines as in Application Insights, and those of an app that cannot start or
// reach it.
#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'log-analytics'
  scope: app
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'FunctionAppLogs'
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

@description('Name of the app.')
output appName string = app.name

@description('Address of the API.')
output apiUrl string = 'https://${app.properties.defaultHostName}'
