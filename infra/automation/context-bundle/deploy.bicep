// Optional stage, context bundle: the storage account of the artifacts, and three workers of one image, which scale by
// themselves: sync reads repositories, merge merges them, training computes models. Deploy it after the stages of the
// Functions app, whose settings BLOB_ENDPOINT and BLOB_CONTAINER are the outputs of this stage.
//
// Without workerImage a deployment does not create or change the container apps.

targetScope = 'resourceGroup'

@description('Prefix of all names. As in the first stage.')
@minLength(2)
@maxLength(11)
param name string = 'matoolkit'

@description('Name of this deployment. As in the first stage.')
@minLength(2)
@maxLength(8)
param environmentName string

@description('Region of the workers and the account. As in the first stage.')
param location string = resourceGroup().location

@description('Tags of all resources, in addition to application and environment.')
param tags object = {}

@description('True: a private endpoint of the account in the virtual network of the first stage. False: a public endpoint, protected by roles. As in the first stage.')
param privateNetwork bool

@description('Image of the workers with registry and tag or digest, such as matoolkitdevacr.azurecr.io/context-worker:v1.2.3. Empty: the container apps stay as they are, or are not created.')
param workerImage string = ''

@description('Name of the Key Vault secret with the token for GitHub, which must exist when you deploy an image. Empty: GitHub allows 60 requests an hour.')
@maxLength(127)
param githubTokenSecretName string = ''

@description('REST API of GitHub.')
param githubUrl string = 'https://api.github.com'

@description('Requests that GitHub allows the token in a minute, for all replicas of sync.')
@minValue(20)
@maxValue(1000000)
param githubRequestsPerMinute int = 900

@description('Replicas of sync without any job; they answer the first refresh without a delay.')
@minValue(0)
@maxValue(20)
param syncMinReplicas int = 2

@description('Maximum replicas of sync.')
@minValue(1)
@maxValue(30)
param syncMaxReplicas int = 20

@description('Replicas of merge without any job.')
@minValue(0)
@maxValue(5)
param mergeMinReplicas int = 2

@description('Maximum replicas of merge.')
@minValue(1)
@maxValue(30)
param mergeMaxReplicas int = 5

@description('Maximum replicas of training, which has none without a job.')
@minValue(1)
@maxValue(30)
param trainingMaxReplicas int = 2

@description('Minimum level of logs.')
@allowed([
  'debug'
  'info'
  'warn'
  'error'
])
param logLevel string = 'info'

@description('OpenTelemetry collector (OTLP/HTTP), such as http://collector:4318, which receives traces, metrics and audit records. Empty: none.')
param otlpEndpoint string = ''

@description('Names of topics and subscriptions that are not the default: setting to name, such as WORKER_JOBS_TOPIC to jobs. As in the first stage.')
param busNames object = {}

@description('Id of the role with which the scaler counts messages. Empty: Azure Service Bus Data Owner. Reader (acdd72a7-3385-48ef-bd42-f606fba81ae7) may be enough; this was not tried.')
param scaleRoleId string = ''

var base = '${name}-${environmentName}'
var accountName = '${name}${environmentName}art'
var containerName = 'artifacts'
var blobEndpoint = 'https://${accountName}.blob.${environment().suffixes.storage}'
var allTags = union(
  {
    application: name
    environment: environmentName
  },
  tags
)

resource registry 'Microsoft.ContainerRegistry/registries@2025-04-01' existing = {
  name: '${name}${environmentName}acr'
}

// The stage of the Functions app creates it.
resource functionsIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: '${base}-func-id'
}

module artifacts 'artifacts.bicep' = {
  name: '${base}-artifacts'
  params: {
    accountName: accountName
    containerName: containerName
    location: location
    tags: allTags
    privateNetwork: privateNetwork
    privateEndpointSubnetId: privateNetwork
      ? resourceId('Microsoft.Network/virtualNetworks/subnets', '${base}-vnet', 'snet-private-endpoints')
      : ''
    privateEndpointName: '${base}-artifacts-pe'
  }
}

// The handler writes the outputs of items for the merge.
module functionsAccess 'access.bicep' = {
  name: '${base}-func-artifacts'
  params: {
    accountName: accountName
    containerName: containerName
    identityName: functionsIdentity.name
    principalId: functionsIdentity.properties.principalId
  }
  dependsOn: [
    artifacts
  ]
}

// Jobs end before the timeouts of their steps: 30 seconds, 60 seconds and 10 minutes.
module sync 'worker.bicep' = {
  name: '${base}-sync'
  params: {
    base: base
    location: location
    tags: allTags
    workerId: 'sync'
    workerImage: workerImage
    registryServer: registry.properties.loginServer
    accountName: accountName
    containerName: containerName
    blobEndpoint: blobEndpoint
    busNames: busNames
    scaleRoleId: scaleRoleId
    minReplicas: syncMinReplicas
    maxReplicas: syncMaxReplicas
    jobsPerReplica: 10
    maxParallelism: 4
    jobTimeoutSeconds: 25
    cpu: '0.5'
    memory: '1Gi'
    logLevel: logLevel
    otlpEndpoint: otlpEndpoint
    githubTokenSecretName: githubTokenSecretName
    settings: [
      {
        name: 'GITHUB_URL'
        value: githubUrl
      }
      {
        name: 'GITHUB_REQUESTS_PER_MINUTE'
        value: string(max(1, githubRequestsPerMinute / syncMaxReplicas))
      }
    ]
  }
  dependsOn: [
    artifacts
  ]
}

module merge 'worker.bicep' = {
  name: '${base}-merge'
  params: {
    base: base
    location: location
    tags: allTags
    workerId: 'merge'
    workerImage: workerImage
    registryServer: registry.properties.loginServer
    accountName: accountName
    containerName: containerName
    blobEndpoint: blobEndpoint
    busNames: busNames
    scaleRoleId: scaleRoleId
    minReplicas: mergeMinReplicas
    maxReplicas: mergeMaxReplicas
    jobsPerReplica: 5
    maxParallelism: 2
    jobTimeoutSeconds: 55
    cpu: '0.5'
    memory: '1Gi'
    logLevel: logLevel
    otlpEndpoint: otlpEndpoint
    githubTokenSecretName: ''
    settings: []
  }
  dependsOn: [
    artifacts
  ]
}

// Its image has the program of the command function.
module training 'worker.bicep' = {
  name: '${base}-training'
  params: {
    base: base
    location: location
    tags: allTags
    workerId: 'training'
    workerImage: workerImage
    registryServer: registry.properties.loginServer
    accountName: accountName
    containerName: containerName
    blobEndpoint: blobEndpoint
    busNames: busNames
    scaleRoleId: scaleRoleId
    minReplicas: 0
    maxReplicas: trainingMaxReplicas
    jobsPerReplica: 1
    maxParallelism: 1
    jobTimeoutSeconds: 590
    cpu: '1'
    memory: '2Gi'
    logLevel: logLevel
    otlpEndpoint: otlpEndpoint
    githubTokenSecretName: ''
    settings: [
      {
        name: 'CUSTOM_FUNCTIONS_DIR'
        value: '/functions'
      }
    ]
  }
  dependsOn: [
    artifacts
  ]
}

@description('Setting BLOB_ENDPOINT of the Functions app.')
output blobEndpoint string = blobEndpoint

@description('Setting BLOB_CONTAINER of the Functions app.')
output blobContainer string = containerName
