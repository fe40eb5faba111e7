// One worker of the context bundle: its identities, subscriptions and roles, and its container app.

@description('Prefix of the names of all resources.')
param base string

@description('Region of the worker.')
param location string

@description('Tags of all resources.')
param tags object

@description('Id of the worker in runbooks, which is the last part of names.')
@minLength(1)
@maxLength(11)
param workerId string

@description('Image with registry and tag. Empty: the container app stays as it is, or is not created.')
param workerImage string

@description('Host name of the registry.')
param registryServer string

@description('Name of the storage account of the artifacts.')
param accountName string

@description('Name of the container of the artifacts.')
param containerName string

@description('Endpoint of the storage account.')
param blobEndpoint string

@description('Names of topics and subscriptions that are not the default.')
param busNames object

@description('Id of the role with which the scaler counts messages. Empty: Azure Service Bus Data Owner.')
param scaleRoleId string

@description('Replicas without any job.')
param minReplicas int

@description('Maximum replicas.')
param maxReplicas int

@description('The scaler adds a replica for each such number of waiting jobs.')
param jobsPerReplica int

@description('Concurrent jobs of one replica.')
param maxParallelism int

@description('Longest run of one job, in seconds.')
param jobTimeoutSeconds int

@description('Processor cores of a replica.')
param cpu string

@description('Memory of a replica.')
param memory string

@description('Minimum level of logs.')
param logLevel string

@description('OpenTelemetry collector; empty: none.')
param otlpEndpoint string

@description('Name of the Key Vault secret with the token for GitHub; empty: none.')
param githubTokenSecretName string

@description('Further settings: name and value of each.')
param settings array

var roles = {
  'Azure Service Bus Data Owner': '090c5cfd-751d-490a-894a-3ce6f1109419'
}
var allTags = union(
  tags,
  {
    worker: workerId
  }
)
var identityNames = {
  worker: '${base}-${workerId}-id'
  scale: '${base}-${workerId}-scale-id'
}
var busName = '${base}-bus'
var vaultUri = 'https://${base}-kv${environment().suffixes.keyvaultDns}'

// The settings of names, with their defaults. The first stage refuses names that cannot be.
var defaultNames = any(loadJsonContent('../../bus-names.json'))
var settingNames = union(defaultNames, busNames)

// From the names in topology.json to those in the namespace.
var names = toObject(items(defaultNames), item => item.value, item => settingNames[item.key])

resource pullIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: '${base}-pull-id'
}

// The stage of the Functions app creates it.
resource functionsIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: '${base}-func-id'
}

module workerIdentity '../../shared/identity.bicep' = {
  name: '${base}-${workerId}-id'
  params: {
    identityName: identityNames.worker
    location: location
    tags: allTags
  }
}

module scaleIdentity '../../shared/identity.bicep' = {
  name: '${base}-${workerId}-scale-id'
  params: {
    identityName: identityNames.scale
    location: location
    tags: allTags
  }
}

module bus '../worker/bus.bicep' = {
  name: '${base}-${workerId}-bus'
  params: {
    namespaceName: busName
    names: names
    workerId: workerId
    workerIdentityName: identityNames.worker
    workerPrincipalId: workerIdentity.outputs.principalId
    functionsIdentityName: functionsIdentity.name
    functionsPrincipalId: functionsIdentity.properties.principalId
    scaleIdentityName: identityNames.scale
    scalePrincipalId: scaleIdentity.outputs.principalId
    scaleRoleId: empty(scaleRoleId) ? roles['Azure Service Bus Data Owner'] : scaleRoleId
  }
}

module artifacts 'access.bicep' = {
  name: '${base}-${workerId}-artifacts'
  params: {
    accountName: accountName
    containerName: containerName
    identityName: identityNames.worker
    principalId: workerIdentity.outputs.principalId
  }
}

// The role assignment needs the secret, which exists when you deploy an image.
module vault '../worker/vault.bicep' = if (!empty(workerImage) && !empty(githubTokenSecretName)) {
  name: '${base}-${workerId}-vault'
  params: {
    vaultName: '${base}-kv'
    secretNames: [
      githubTokenSecretName
    ]
    workerIdentityName: identityNames.worker
    workerPrincipalId: workerIdentity.outputs.principalId
  }
}

// Roles take some minutes to be in effect. A worker that starts earlier ends with an error, and the
// platform restarts it.
module app '../worker/app.bicep' = if (!empty(workerImage)) {
  name: '${base}-${workerId}-app'
  params: {
    appName: '${base}-${workerId}'
    location: location
    tags: allTags
    containerEnvironmentName: '${base}-cae'
    image: workerImage
    registryServer: registryServer
    pullIdentityId: pullIdentity.id
    scaleIdentityId: resourceId('Microsoft.ManagedIdentity/userAssignedIdentities', identityNames.scale)
    workerIdentityId: resourceId('Microsoft.ManagedIdentity/userAssignedIdentities', identityNames.worker)
    functionsStorageName: ''
    namespaceName: busName
    topicName: names['worker-jobs']
    subscriptionName: bus.outputs.subscriptionName
    jobsPerReplica: jobsPerReplica
    minReplicas: minReplicas
    maxReplicas: maxReplicas
    cpu: cpu
    memory: memory
    collectorImage: ''
    collectorSettings: []
    terminationGracePeriodSeconds: 50
    otlpHeadersSecretUri: ''
    vaultSettings: empty(githubTokenSecretName)
      ? []
      : [
          {
            name: 'GITHUB_TOKEN'
            uri: '${vaultUri}/secrets/${githubTokenSecretName}'
          }
        ]
    settings: concat(
      [
        {
          name: 'WORKER_ID'
          value: workerId
        }
        {
          name: 'ServiceBusConnection__fullyQualifiedNamespace'
          value: '${busName}.servicebus.windows.net'
        }
        {
          name: 'AZURE_CLIENT_ID'
          value: workerIdentity.outputs.clientId
        }
        {
          name: 'BLOB_ENDPOINT'
          value: blobEndpoint
        }
        {
          name: 'BLOB_CONTAINER'
          value: containerName
        }
        {
          name: 'MAX_PARALLELISM'
          value: string(maxParallelism)
        }
        {
          name: 'JOB_TIMEOUT_SECONDS'
          value: string(jobTimeoutSeconds)
        }
        {
          // The scaler stops idle replicas. The platform would restart a worker that exits.
          name: 'IDLE_TIMEOUT_SECONDS'
          value: '0'
        }
        {
          name: 'SHUTDOWN_GRACE_SECONDS'
          value: '30'
        }
        {
          name: 'HEALTH_ADDR'
          value: '0.0.0.0:8080'
        }
        {
          name: 'LOG_LEVEL'
          value: logLevel
        }
        {
          name: 'OTEL_EXPORTER_OTLP_ENDPOINT'
          value: otlpEndpoint
        }
      ],
      settings,
      map(
        items(settingNames),
        setting => {
          name: setting.key
          value: setting.value
        }
      )
    )
  }
  dependsOn: [
    vault
    artifacts
  ]
}
