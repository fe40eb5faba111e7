// The worker's container app: one container, started when jobs wait and taken away when
// none are left.

@description('Name of the app.')
@minLength(2)
@maxLength(32)
param appName string

@description('Region of the app: that of its environment.')
param location string

@description('Tags of the app.')
param tags object

@description('Name of the Container Apps environment, in this resource group.')
param containerEnvironmentName string

@description('The image with its registry and tag.')
param image string

@description('Host name of the registry.')
param registryServer string

@description('Resource id of the identity that the image is pulled by.')
param pullIdentityId string

@description('Resource id of the identity that the scaler counts messages by.')
param scaleIdentityId string

@description('Resource id of the worker\'s own identity.')
param workerIdentityId string

@description('Settings of the worker: {name, value} each. Empty ones are left out.')
param settings array

@description('Address of the secret in the vault with the headers for the telemetry collector; empty: none.')
param otlpHeadersSecretUri string

@description('Name of the Service Bus namespace.')
param namespaceName string

@description('Name of the worker\'s subscription of worker-jobs.')
param subscriptionName string

@description('Jobs that one replica runs at once; for as many waiting there is one more replica.')
param jobsPerReplica int

@description('Replicas that are there without any job.')
param minReplicas int

@description('Replicas at most.')
param maxReplicas int

@description('Processor cores of a replica.')
param cpu string

@description('Memory of a replica.')
param memory string

@description('For how long a replica may go on after it was told to stop.')
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
      // A new revision takes the place of the one before.
      activeRevisionsMode: 'Single'
      // The platform uses the other two. The program cannot ask for their tokens.
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
      // By reference only: no secret is in a template or a parameter.
      secrets: empty(otlpHeadersSecretUri)
        ? []
        : [
            {
              name: 'otlp-headers'
              keyVaultUrl: otlpHeadersSecretUri
              identity: workerIdentityId
            }
          ]
    }
    template: {
      terminationGracePeriodSeconds: terminationGracePeriodSeconds
      containers: [
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
                ]
          )
          // Sixty seconds to start in. Ten failures are the most that a probe may have by
          // the documentation.
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
      ]
      scale: {
        minReplicas: minReplicas
        maxReplicas: maxReplicas
        pollingInterval: 30
        // Without jobs for so long the last replica goes. Those that run count as waiting
        // until they are completed.
        cooldownPeriod: 300
        rules: [
          {
            name: 'jobs'
            custom: {
              type: 'azure-servicebus'
              identity: scaleIdentityId
              metadata: {
                namespace: namespaceName
                topicName: 'worker-jobs'
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
