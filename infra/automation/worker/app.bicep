// The worker's container app, scaled by the number of waiting jobs.

@description('Name of the app.')
@minLength(2)
@maxLength(32)
param appName string

@description('Region of the app, which is that of its environment.')
param location string

@description('Tags of the app.')
param tags object

@description('Name of the Container Apps environment, in this resource group.')
param containerEnvironmentName string

@description('Image with registry and tag.')
param image string

@description('Host name of the registry.')
param registryServer string

@description('Resource id of the identity that pulls the image.')
param pullIdentityId string

@description('Resource id of the identity of the scaler.')
param scaleIdentityId string

@description('Resource id of the worker\'s own identity.')
param workerIdentityId string

@description('Settings of the worker: name and value of each. Empty values are left out.')
param settings array

@description('Address of the Key Vault secret with the headers for the collector; empty: none.')
param otlpHeadersSecretUri string

@description('Settings of the worker with secrets: name, and uri of the Key Vault secret, of each.')
param vaultSettings array

@description('Name of the environment\'s storage with custom functions; empty: none.')
param functionsStorageName string

@description('Name of the Service Bus namespace.')
param namespaceName string

@description('Name of the topic of jobs.')
param topicName string

@description('Name of the worker\'s subscription of jobs.')
param subscriptionName string

@description('Concurrent jobs of one replica; the scaler adds a replica for each such number of waiting jobs.')
param jobsPerReplica int

@description('Replicas without any job.')
param minReplicas int

@description('Maximum replicas.')
param maxReplicas int

@description('Processor cores of a replica.')
param cpu string

@description('Memory of a replica.')
param memory string

@description('Image of the OpenTelemetry collector; empty: none.')
param collectorImage string

@description('Settings of the collector: name and value of each.')
param collectorSettings array

@description('Seconds that a stopping replica may still run.')
param terminationGracePeriodSeconds int

resource containerEnvironment 'Microsoft.App/managedEnvironments@2025-01-01' existing = {
  name: containerEnvironmentName
}

resource app 'Microsoft.App/containerApps@2025-01-01' = {
  name: appName
  location: location
  tags: tags
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${workerIdentityId}': {}
      '${pullIdentityId}': {}
      '${scaleIdentityId}': {}
    }
  }
  properties: {
    environmentId: containerEnvironment.id
    workloadProfileName: 'Consumption'
    configuration: {
      activeRevisionsMode: 'Single'
      // Only the platform uses the other two identities; the program cannot get their tokens.
      identitySettings: [
        {
          identity: workerIdentityId
          lifecycle: 'Main'
        }
        {
          identity: pullIdentityId
          lifecycle: 'None'
        }
        {
          identity: scaleIdentityId
          lifecycle: 'None'
        }
      ]
      registries: [
        {
          server: registryServer
          identity: pullIdentityId
        }
      ]
      secrets: concat(
        empty(otlpHeadersSecretUri)
          ? []
          : [
              {
                name: 'otlp-headers'
                keyVaultUrl: otlpHeadersSecretUri
                identity: workerIdentityId
              }
            ],
        map(
          vaultSettings,
          setting => {
            name: 'setting-${toLower(replace(setting.name, '_', '-'))}'
            keyVaultUrl: setting.uri
            identity: workerIdentityId
          }
        )
      )
    }
    template: {
      terminationGracePeriodSeconds: terminationGracePeriodSeconds
      containers: concat(
        [
          {
            name: 'worker'
            image: image
            resources: {
              cpu: json(cpu)
              memory: memory
            }
            env: concat(
              filter(settings, setting => !empty(setting.value)),
              empty(otlpHeadersSecretUri)
                ? []
                : [
                    {
                      name: 'OTEL_EXPORTER_OTLP_HEADERS'
                      secretRef: 'otlp-headers'
                    }
                  ],
              map(
                vaultSettings,
                setting => {
                  name: setting.name
                  secretRef: 'setting-${toLower(replace(setting.name, '_', '-'))}'
                }
              )
            )
            volumeMounts: empty(functionsStorageName)
              ? []
              : [
                  {
                    volumeName: 'functions'
                    mountPath: '/functions'
                  }
                ]
            // 60 seconds to start: failureThreshold is at most 10.
            probes: [
              {
                type: 'Startup'
                httpGet: {
                  path: '/livez'
                  port: 8080
                }
                periodSeconds: 6
                failureThreshold: 10
              }
              {
                type: 'Liveness'
                httpGet: {
                  path: '/livez'
                  port: 8080
                }
                periodSeconds: 30
                failureThreshold: 3
              }
              {
                type: 'Readiness'
                httpGet: {
                  path: '/readyz'
                  port: 8080
                }
                periodSeconds: 10
                failureThreshold: 3
              }
            ]
          }
        ],
        empty(collectorImage)
          ? []
          : [
              {
                name: 'collector'
                image: collectorImage
                args: [
                  '--config=env:COLLECTOR_CONFIG'
                ]
                resources: {
                  cpu: json('0.25')
                  memory: '0.5Gi'
                }
                env: collectorSettings
              }
            ]
      )
      // The worker refuses functions that every user can write.
      volumes: empty(functionsStorageName)
        ? []
        : [
            {
              name: 'functions'
              storageType: 'AzureFile'
              storageName: functionsStorageName
              mountOptions: 'dir_mode=0755,file_mode=0755'
            }
          ]
      scale: {
        minReplicas: minReplicas
        maxReplicas: maxReplicas
        pollingInterval: 30
        // Seconds without jobs until the last replica stops. Running jobs count as waiting.
        cooldownPeriod: 300
        rules: [
          {
            name: 'jobs'
            custom: {
              type: 'azure-servicebus'
              identity: scaleIdentityId
              metadata: {
                namespace: namespaceName
                topicName: topicName
                subscriptionName: subscriptionName
                messageCount: string(jobsPerReplica)
              }
            }
          }
        ]
      }
    }
  }
}

@description('Name of the latest revision.')
output latestRevisionName string = app.properties.latestRevisionName
