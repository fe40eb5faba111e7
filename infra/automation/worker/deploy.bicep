// Second stage, worker: one worker with its subscriptions, identities and roles. For another worker
// deploy it again with another workerId and another deployment name.
//
// Without workerImage a deployment does not create or change the container app, so that you can
// deploy the infrastructure before the first image and without a restart of the worker.

targetScope = 'resourceGroup'

@description('Prefix of all names. As in the first stage.')
@minLength(2)
@maxLength(11)
param name string = 'matoolkit'

@description('Name of this deployment. As in the first stage.')
@minLength(2)
@maxLength(8)
param environmentName string

@description('Region of the worker. As in the first stage.')
param location string = resourceGroup().location

@description('Tags of all resources, in addition to application and environment.')
param tags object = {}

@description('Id of the worker in runbooks: letters, digits, hyphens, underscores and dots, with a letter or digit at both ends. Not func or pull, and not ending in -scale. Ids that differ only in case have the same resources, so a deployment of one replaces the other.')
@minLength(1)
@maxLength(43)
param workerId string = 'worker-01'

@description('Image of the worker with registry and tag or digest, such as matoolkitdevacr.azurecr.io/matoolkit-worker:v1.2.3. Empty: the container app stays as it is, or is not created.')
param workerImage string = ''

@description('Id of the target tenant.')
@minLength(36)
@maxLength(36)
param targetTenantId string

@description('Client id of the app registration in the target tenant.')
@minLength(36)
@maxLength(36)
param appId string

@description('Kind of the credential for the target tenant.')
@allowed([
  'certificate'
  'secret'
])
param credentialKind string = 'certificate'

@description('Name of the certificate or client secret in the vault.')
@minLength(1)
@maxLength(127)
param credentialName string = 'worker'

@description('Name of the secret with the password of a PFX that is stored as a secret.')
param certificatePassphraseName string = ''

@description('Secrets that the worker may read: its own by name (secrets), which must exist when you deploy an image, or all in the vault (vault).')
@allowed([
  'secrets'
  'vault'
])
param vaultAccess string = 'secrets'

@description('Seconds between two reads of the credential from the vault.')
@minValue(60)
@maxValue(604800)
param secretRefreshSeconds int = 3600

@description('APIs that the worker calls once at its start: graph, exchange, both with a comma, or none.')
@allowed([
  'graph,exchange'
  'graph'
  'exchange'
  'none'
])
param trialSignIn string = 'graph,exchange'

@description('Concurrent jobs of one replica; 8 to 16 suit one tenant.')
@minValue(1)
@maxValue(1000)
param maxParallelism int = 8

@description('Replicas without any job. 0 costs nothing and delays the first job by some seconds.')
@minValue(0)
@maxValue(10)
param minReplicas int = 0

@description('Maximum replicas. They share the limits of the tenant; more than three exceed the limit of Exchange Online.')
@minValue(1)
@maxValue(30)
param maxReplicas int = 1

@description('Share of the limits of the tenant for all replicas of this worker, in percent; less than 100 if another worker uses the same app registration.')
@minValue(1)
@maxValue(100)
param tenantSharePercent int = 100

@description('Writes that the tenant allows the app registration in 150 seconds.')
@minValue(1)
@maxValue(1000000)
param graphWriteLimit int = 3000

@description('Invitations that the tenant allows the app registration in 5 seconds.')
@minValue(1)
@maxValue(100000)
param graphInvitationLimit int = 150

@description('Commands that Exchange Online runs for the app registration at the same time.')
@minValue(1)
@maxValue(100)
param exchangeCommandLimit int = 3

@description('How often a throttled call is repeated. Then the job fails, and the retry of its step continues.')
@minValue(0)
@maxValue(100)
param throttleRetries int = 5

@description('How often a call is repeated that got no answer, or a server error.')
@minValue(0)
@maxValue(100)
param transientRetries int = 4

@description('Delay before the first repetition of a call where Graph gives no Retry-After, in seconds. Each delay is twice the previous one.')
@minValue(1)
@maxValue(3600)
param graphBackoffSeconds int = 2

@description('Delay before the first repetition of a command where Exchange Online gives no Retry-After, in seconds. Each delay is longer by as much.')
@minValue(1)
@maxValue(3600)
param exchangeBackoffSeconds int = 3

@description('Longest delay before a repetition, in seconds. At least the two delays before.')
@minValue(1)
@maxValue(3600)
param maxBackoffSeconds int = 120

@description('Longest run of one job, in seconds.')
@minValue(1)
@maxValue(604800)
param jobTimeoutSeconds int = 600

@description('Milliseconds that a result waits for the results of other running jobs, to travel in one message with them; 0: it does not wait.')
@minValue(0)
@maxValue(1000)
param resultLingerMilliseconds int = 0

@description('Seconds that a call waits until the tenant shows a new object; 0: it does not wait.')
@minValue(0)
@maxValue(604800)
param lagTimeoutSeconds int = 30

@description('Seconds for running jobs when a replica stops; then it abandons them.')
@minValue(0)
@maxValue(580)
param shutdownGraceSeconds int = 30

@description('Mailbox that Send-AdminAlert sends from. Empty: the function fails.')
param alertFrom string = ''

@description('Default recipients of Send-AdminAlert, with commas. A runbook names others within mailDomains only.')
param alertTo string = ''

@description('Mailbox that Send-MemberMail sends from. Empty: the function fails.')
param mailFrom string = ''

@description('Domains whose people get mails of Send-MemberMail and Send-AdminAlert, and passes and passwords to hand over, with commas. Empty: only alertTo gets mails.')
param mailDomains string = ''

@description('URLs and keys of webhooks: name of the setting to name of the Key Vault secret, which must exist. Send-WebhookMessage can use only these settings.')
param webhookVaultSettings object = {}

@description('Name of the Key Vault secret with the key from which Reset-EntraUserPassword derives passwords: 32 to 64 random bytes in base64. It must exist. Empty: passwords are random.')
param passwordKeySecretName string = ''

@description('Minimum level of logs.')
@allowed([
  'debug'
  'info'
  'warn'
  'error'
])
param logLevel string = 'info'

@description('Image of the OpenTelemetry collector, contrib distribution, that runs beside the worker and sends its traces, metrics and audit records to Application Insights. It uses 0.25 cores and 0.5 GiB. Empty: no such container.')
param collectorImage string = 'ghcr.io/open-telemetry/opentelemetry-collector-releases/opentelemetry-collector-contrib:0.160.0'

@description('Another OpenTelemetry collector (OTLP/HTTP), such as http://collector:4318, which receives traces, metrics and audit records instead of Application Insights.')
param otlpEndpoint string = ''

@description('Name of the Key Vault secret with the headers for the collector.')
param otlpHeadersSecretName string = ''

@description('Name of a storage of the Container Apps environment, an Azure Files share with custom functions, which is mounted at /functions. Empty: no share.')
@maxLength(64)
param functionsStorageName string = ''

@description('Additional settings of the worker, such as GRAPH_URL or CUSTOM_FUNCTIONS_DIR. No secrets.')
param extraSettings object = {}

@description('Processor cores of a replica, which has twice as many GiB of memory.')
@allowed([
  '0.25'
  '0.5'
  '1'
  '2'
])
param cpu string = '0.25'

@description('Names of topics and subscriptions that are not the default: setting to name, such as WORKER_JOBS_TOPIC to jobs. As in the first stage.')
param busNames object = {}

@description('Id of the role with which the scaler counts messages. Empty: Azure Service Bus Data Owner. Reader (acdd72a7-3385-48ef-bd42-f606fba81ae7) may be enough; this was not tried.')
param scaleRoleId string = ''

var roles = {
  'Azure Service Bus Data Owner': '090c5cfd-751d-490a-894a-3ce6f1109419'
}
var base = '${name}-${environmentName}'

var lowerId = toLower(workerId)
var foreign = filter(
  range(0, length(workerId)),
  i =>
    !contains(
      i == 0 || i == length(workerId) - 1 ? 'abcdefghijklmnopqrstuvwxyz0123456789' : 'abcdefghijklmnopqrstuvwxyz0123456789._-',
      substring(lowerId, i, 1)
    )
)

// Other identities have these names.
var reserved = contains(
  [
    'func'
    'pull'
  ],
  lowerId
) || endsWith(lowerId, '-scale')
var id = !empty(foreign)
  ? fail('workerId: use letters, digits, hyphens, underscores and dots, with a letter or digit at both ends')
  : reserved ? fail('workerId: func, pull and names that end in -scale are reserved') : workerId

// The name of a container app has lower-case letters, digits and single hyphens, and 11 characters are
// left for the worker. An id that is no such name is shortened, with a hash.
var letters = replace(replace(replace(lowerId, '-', ''), '_', ''), '.', '')
var isName = length(lowerId) < 12 && replace(lowerId, '-', '') == letters && !contains(lowerId, '--')
var key = isName ? lowerId : '${take(letters, 5)}-${take(uniqueString(lowerId), 5)}'

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
    worker: id
  },
  tags
)
var identityNames = {
  worker: '${base}-${key}-id'
  scale: '${base}-${key}-scale-id'
}
var busName = '${base}-bus'
var collects = !empty(collectorImage) && empty(otlpEndpoint)
var vaultUri = 'https://${base}-kv${environment().suffixes.keyvaultDns}'

// A client secret has no password.
var passwordName = credentialKind == 'certificate' ? certificatePassphraseName : ''
var vaultSettings = union(
  webhookVaultSettings,
  empty(passwordKeySecretName)
    ? {}
    : {
        PASSWORD_KEY: passwordKeySecretName
      }
)
var secretNames = filter(
  union(
    [
      credentialName
    ],
    [
      passwordName
      otlpHeadersSecretName
    ],
    map(items(vaultSettings), setting => setting.value)
  ),
  secret => !empty(secret)
)
var memory = {
  '0.25': '0.5Gi'
  '0.5': '1Gi'
  '1': '2Gi'
  '2': '4Gi'
}

resource registry 'Microsoft.ContainerRegistry/registries@2025-04-01' existing = {
  name: '${name}${environmentName}acr'
}

resource pullIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: '${base}-pull-id'
}

// The stage of the Functions app creates it.
resource functionsIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: '${base}-func-id'
}

module workerIdentity '../../shared/identity.bicep' = {
  name: '${base}-${key}-id'
  params: {
    identityName: identityNames.worker
    location: location
    tags: allTags
  }
}

module scaleIdentity '../../shared/identity.bicep' = {
  name: '${base}-${key}-scale-id'
  params: {
    identityName: identityNames.scale
    location: location
    tags: allTags
  }
}

module bus 'bus.bicep' = {
  name: '${base}-${key}-bus'
  params: {
    namespaceName: busName
    names: names
    workerId: id
    workerIdentityName: identityNames.worker
    workerPrincipalId: workerIdentity.outputs.principalId
    functionsIdentityName: functionsIdentity.name
    functionsPrincipalId: functionsIdentity.properties.principalId
    scaleIdentityName: identityNames.scale
    scalePrincipalId: scaleIdentity.outputs.principalId
    scaleRoleId: empty(scaleRoleId) ? roles['Azure Service Bus Data Owner'] : scaleRoleId
  }
}

module telemetry '../../shared/telemetry.bicep' = if (collects) {
  name: '${base}-${key}-telemetry'
  params: {
    insightsName: '${base}-appi'
    identityName: identityNames.worker
    principalId: workerIdentity.outputs.principalId
  }
}

// The role assignments need the secrets, which exist when you deploy an image.
module vault 'vault.bicep' = if (!empty(workerImage)) {
  name: '${base}-${key}-vault'
  params: {
    vaultName: '${base}-kv'
    secretNames: vaultAccess == 'vault' ? [] : secretNames
    workerIdentityName: identityNames.worker
    workerPrincipalId: workerIdentity.outputs.principalId
  }
}

// Roles take some minutes to be in effect. A worker that starts earlier ends with an error, and the
// platform restarts it.
module app 'app.bicep' = if (!empty(workerImage)) {
  name: '${base}-${key}'
  params: {
    appName: '${base}-${key}'
    location: location
    tags: allTags
    containerEnvironmentName: '${base}-cae'
    image: workerImage
    registryServer: registry.properties.loginServer
    pullIdentityId: pullIdentity.id
    scaleIdentityId: resourceId('Microsoft.ManagedIdentity/userAssignedIdentities', identityNames.scale)
    workerIdentityId: resourceId('Microsoft.ManagedIdentity/userAssignedIdentities', identityNames.worker)
    functionsStorageName: functionsStorageName
    namespaceName: busName
    topicName: names['worker-jobs']
    subscriptionName: bus.outputs.subscriptionName
    jobsPerReplica: maxParallelism
    minReplicas: minReplicas
    maxReplicas: maxReplicas
    cpu: cpu
    memory: memory[cpu]
    collectorImage: collects ? collectorImage : ''
    collectorSettings: collects
      ? [
          {
            name: 'COLLECTOR_CONFIG'
            value: loadTextContent('collector.yaml')
          }
          {
            name: 'APPLICATIONINSIGHTS_CONNECTION_STRING'
            value: telemetry!.outputs.connectionString
          }
          {
            name: 'AZURE_CLIENT_ID'
            value: workerIdentity.outputs.clientId
          }
        ]
      : []
    // The worker needs time to send results after its own grace period. The platform allows 600
    // seconds.
    terminationGracePeriodSeconds: shutdownGraceSeconds + 20
    otlpHeadersSecretUri: empty(otlpHeadersSecretName) ? '' : '${vaultUri}/secrets/${otlpHeadersSecretName}'
    vaultSettings: map(
      items(vaultSettings),
      setting => {
        name: setting.key
        uri: '${vaultUri}/secrets/${setting.value}'
      }
    )
    settings: concat(
      [
        {
          name: 'WORKER_ID'
          value: id
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
          name: 'TARGET_TENANT_ID'
          value: targetTenantId
        }
        {
          name: 'APP_ID'
          value: appId
        }
        {
          name: 'KEY_VAULT_URL'
          value: vaultUri
        }
        {
          name: 'CERT_NAME'
          value: credentialKind == 'certificate' ? credentialName : ''
        }
        {
          name: 'CERT_PASSWORD_NAME'
          value: passwordName
        }
        {
          name: 'APP_SECRET_NAME'
          value: credentialKind == 'secret' ? credentialName : ''
        }
        {
          name: 'SECRET_REFRESH_SECONDS'
          value: string(secretRefreshSeconds)
        }
        {
          name: 'TRIAL_SIGN_IN'
          value: trialSignIn
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
          name: 'RESULT_LINGER_MILLISECONDS'
          value: string(resultLingerMilliseconds)
        }
        {
          name: 'LAG_TIMEOUT_SECONDS'
          value: string(lagTimeoutSeconds)
        }
        {
          name: 'GRAPH_WRITE_LIMIT'
          value: string(graphWriteLimit)
        }
        {
          name: 'GRAPH_INVITATION_LIMIT'
          value: string(graphInvitationLimit)
        }
        {
          name: 'EXCHANGE_COMMAND_LIMIT'
          value: string(exchangeCommandLimit)
        }
        {
          name: 'THROTTLE_RETRIES'
          value: string(throttleRetries)
        }
        {
          name: 'TRANSIENT_RETRIES'
          value: string(transientRetries)
        }
        {
          name: 'GRAPH_BACKOFF_SECONDS'
          value: string(graphBackoffSeconds)
        }
        {
          name: 'EXCHANGE_BACKOFF_SECONDS'
          value: string(exchangeBackoffSeconds)
        }
        {
          name: 'MAX_BACKOFF_SECONDS'
          value: string(maxBackoffSeconds)
        }
        {
          // Each replica gets its share of the tenant's limits for maxReplicas replicas.
          name: 'TENANT_SHARE_PERCENT'
          value: string(max(1, tenantSharePercent / maxReplicas))
        }
        {
          // The scaler stops idle replicas. The platform would restart a worker that exits.
          name: 'IDLE_TIMEOUT_SECONDS'
          value: '0'
        }
        {
          name: 'SHUTDOWN_GRACE_SECONDS'
          value: string(shutdownGraceSeconds)
        }
        {
          name: 'ALERT_FROM'
          value: alertFrom
        }
        {
          name: 'ALERT_TO'
          value: alertTo
        }
        {
          name: 'MAIL_FROM'
          value: mailFrom
        }
        {
          name: 'MAIL_DOMAINS'
          value: mailDomains
        }
        {
          name: 'WEBHOOK_SETTINGS'
          value: join(map(items(webhookVaultSettings), setting => setting.key), ',')
        }
        {
          name: 'HEALTH_ADDR'
          value: '0.0.0.0:8080'
        }
        {
          name: 'CUSTOM_FUNCTIONS_DIR'
          value: empty(functionsStorageName) ? '' : '/functions'
        }
        {
          name: 'LOG_LEVEL'
          value: logLevel
        }
        {
          name: 'OTEL_EXPORTER_OTLP_ENDPOINT'
          value: collects ? 'http://localhost:4318' : otlpEndpoint
        }
      ],
      map(
        items(union(extraSettings, settingNames)),
        setting => {
          name: setting.key
          value: setting.value
        }
      )
    )
  }
  dependsOn: [
    vault
  ]
}

@description('Name of the worker\'s container app, which may not exist yet. It is derived from workerId.')
output workerAppName string = '${base}-${key}'

@description('Name of the worker\'s subscription of jobs.')
output subscriptionName string = bus.outputs.subscriptionName

@description('Name of the worker\'s identity.')
output workerIdentityName string = identityNames.worker

@description('Object id of the worker\'s identity.')
output workerPrincipalId string = workerIdentity.outputs.principalId

@description('Host name of the registry, the first part of image names.')
output registryLoginServer string = registry.properties.loginServer
