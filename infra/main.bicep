// Both stages in one deployment, for trials and the Azure Developer CLI (azure.yaml). For production
// deploy the stages one by one, with their own parameter files.

targetScope = 'resourceGroup'

@description('Prefix of all names: lower-case letters and digits, starting with a letter.')
@minLength(2)
@maxLength(11)
param name string = 'matoolkit'

@description('Name of this deployment, such as dev or prod: lower-case letters and digits.')
@minLength(2)
@maxLength(8)
param environmentName string

@description('Region of all resources.')
param location string = resourceGroup().location

@description('Tags of all resources, in addition to application and environment.')
param tags object = {}

@description('True: a virtual network with private endpoints and Service Bus Premium. False: public endpoints, protected by roles. It cannot be changed later.')
param privateNetwork bool = false

@description('With privateNetwork: IPv4 addresses or CIDR ranges up to /30 that may deploy and write secrets.')
param deployerAddresses array = []

@description('CIDR ranges that may call the API at its public endpoint. Default: none with privateNetwork, all without.')
param apiAllowedAddresses array = []

@description('Object id of the deployer, who may write certificates and secrets and push images. Empty: no such role assignments.')
param deployerPrincipalId string = ''

@description('Type of the deployer.')
@allowed([
  'User'
  'Group'
  'ServicePrincipal'
])
param deployerPrincipalType string = 'User'

@description('Client id of the app registration of the admin API.')
@minLength(36)
@maxLength(36)
param entraClientId string

@description('Client id of the app registration of pages that call the admin API. Empty: no page can sign in.')
@maxLength(36)
param consoleClientId string = ''

@description('Id of the target tenant.')
@minLength(36)
@maxLength(36)
param targetTenantId string

@description('Client id of the app registration in the target tenant.')
@minLength(36)
@maxLength(36)
param appId string

@description('Id of the worker in runbooks: letters, digits, hyphens, underscores and dots, with a letter or digit at both ends.')
@minLength(1)
@maxLength(43)
param workerId string = 'worker-01'

@description('Image of the worker with registry and tag. Empty: the worker is not created, or stays as it is.')
param workerImage string = ''

@description('Names of topics and subscriptions that are not the default: setting to name, such as WORKER_JOBS_TOPIC to jobs.')
param busNames object = {}

@description('E-mail addresses that receive alerts. Empty: alerts notify no one.')
param alertEmails array = []

var base = '${name}-${environmentName}'
var deployers = empty(deployerPrincipalId)
  ? []
  : [
      {
        id: deployerPrincipalId
        type: deployerPrincipalType
      }
    ]

module shared 'shared/deploy.bicep' = {
  name: '${base}-shared'
  params: {
    name: name
    environmentName: environmentName
    location: location
    tags: tags
    privateNetwork: privateNetwork
    busNames: busNames
    deployerAddresses: deployerAddresses
    vaultOfficers: deployers
    imagePushers: deployers
  }
}

// The second stage refers to the first by name, so it needs dependsOn.
module functions 'automation/functions/deploy.bicep' = {
  name: '${base}-functions'
  params: {
    name: name
    environmentName: environmentName
    location: location
    tags: tags
    privateNetwork: privateNetwork
    deployerAddresses: deployerAddresses
    apiAllowedAddresses: apiAllowedAddresses
    entraClientId: entraClientId
    consoleClientId: consoleClientId
    busNames: busNames
    alertEmails: alertEmails
    alertsEnabled: !empty(alertEmails)
  }
  dependsOn: [
    shared
  ]
}

module worker 'automation/worker/deploy.bicep' = {
  name: '${base}-worker'
  params: {
    name: name
    environmentName: environmentName
    location: location
    tags: tags
    workerId: workerId
    busNames: busNames
    workerImage: workerImage
    targetTenantId: targetTenantId
    appId: appId
  }
  dependsOn: [
    functions
  ]
}

// The Azure Developer CLI stores outputs as environment variables.

@description('Name of the Functions app.')
output FUNCTION_APP_NAME string = functions.outputs.functionAppName

@description('Address of the admin API.')
output API_URL string = functions.outputs.apiUrl

@description('Name of the vault.')
output KEY_VAULT_NAME string = shared.outputs.keyVaultName

@description('Name of the container registry.')
output REGISTRY_NAME string = shared.outputs.registryName

@description('Host name of the container registry.')
output REGISTRY_LOGIN_SERVER string = shared.outputs.registryLoginServer

@description('Name of the worker\'s container app, which may not exist yet.')
output WORKER_APP_NAME string = worker.outputs.workerAppName
