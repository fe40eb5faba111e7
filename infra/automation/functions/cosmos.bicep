// Cosmos DB, the store of the handler: one account, one database, one container. See
// docs/decisions/0003, 0004 and 0029. A deployment resets throughput that you changed by hand.

@description('Name of the account.')
@minLength(3)
@maxLength(44)
param accountName string

@description('Region of the account.')
param location string

@description('Tags of the account and its private endpoint.')
param tags object

@description('Serverless (billed by request, up to 5,000 RU/s at first) or autoscale (a tenth of the maximum to the maximum).')
@allowed([
  'serverless'
  'autoscale'
])
param capacity string

@description('Maximum RU/s of autoscale, in steps of 1,000.')
@minValue(1000)
@maxValue(1000000)
param maximumThroughput int

@description('Period of continuous backup.')
@allowed([
  'Continuous7Days'
  'Continuous30Days'
])
param backup string

@description('True: use three availability zones.')
param zoneRedundant bool

@description('True: a private endpoint only. False: a public endpoint, protected by roles.')
param privateNetwork bool

@description('Resource id of the subnet of private endpoints; empty in the public mode.')
param privateEndpointSubnetId string

@description('Name of the private endpoint.')
param privateEndpointName string

@description('Name of the app\'s identity, from which the names of role assignments are derived.')
param identityName string

@description('Object id of the app\'s identity.')
param principalId string

@description('A lock that prevents the deletion of the account.')
param deleteLock bool

@description('Resource id of the Log Analytics workspace.')
param workspaceId string

// Cosmos DB's own roles, which are not Azure roles.
var roles = {
  cosmosBuiltInDataContributor: '00000000-0000-0000-0000-000000000002'
}

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-04-15' = {
  name: accountName
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    locations: [
      {
        locationName: location
        failoverPriority: 0
        isZoneRedundant: zoneRedundant
      }
    ]
    // The handler must read its latest write: see docs/decisions/0003. In one region strong
    // consistency adds no latency.
    consistencyPolicy: {
      defaultConsistencyLevel: 'Strong'
    }
    // This cannot be changed later.
    capabilities: capacity == 'serverless'
      ? [
          {
            name: 'EnableServerless'
          }
        ]
      : []
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: {
        tier: backup
      }
    }
    // No keys: access needs a token and a role.
    disableLocalAuth: true
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
    networkAclBypass: 'None'
    enableAutomaticFailover: false
    enableMultipleWriteLocations: false
  }
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-04-15' = {
  parent: account
  name: 'matoolkit'
  properties: {
    resource: {
      id: 'matoolkit'
    }
  }
}

resource container 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-04-15' = {
  parent: database
  name: 'matoolkit'
  properties: {
    resource: {
      id: 'matoolkit'
      partitionKey: {
        kind: 'Hash'
        version: 2
        paths: [
          '/pk'
        ]
      }
      // Local containers use the same file. Without defaultTtl, items do not expire.
      indexingPolicy: loadJsonContent('../../../internal/store/cosmos/index-policy.json')
    }
    options: capacity == 'serverless'
      ? {}
      : {
          autoscaleSettings: {
            maxThroughput: maximumThroughput
          }
        }
  }
}

// The role allows reading and writing items, but no change of containers.
resource access 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = {
  parent: account
  name: guid(account.id, identityName, roles.cosmosBuiltInDataContributor)
  properties: {
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${roles.cosmosBuiltInDataContributor}'
    principalId: principalId
    scope: '${account.id}/dbs/${database.name}'
  }
  // The account refuses concurrent changes.
  dependsOn: [
    container
  ]
}

module endpoint '../../shared/private-endpoint.bicep' = if (privateNetwork) {
  name: privateEndpointName
  dependsOn: [
    access
  ]
  params: {
    endpointName: privateEndpointName
    location: location
    tags: tags
    subnetId: privateEndpointSubnetId
    targetId: account.id
    groupId: 'Sql'
    zoneName: 'privatelink.documents.azure.com'
  }
}

// Changes of the account. Reads and writes of items are not logged: metrics show their cost, and the
// audit log of the API shows changes.
#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'log-analytics'
  scope: account
  properties: {
    workspaceId: workspaceId
    logAnalyticsDestinationType: 'Dedicated'
    logs: [
      {
        category: 'ControlPlaneRequests'
        enabled: true
      }
      {
        // The throughput of each partition key.
        category: 'PartitionKeyRUConsumption'
        enabled: true
      }
    ]
    metrics: [
      {
        category: 'Requests'
        enabled: true
      }
    ]
  }
}

resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (deleteLock) {
  name: 'no-delete'
  scope: account
  properties: {
    level: 'CanNotDelete'
    notes: 'It holds the state of all batches.'
  }
}

@description('Name of the account.')
output accountName string = account.name

@description('Address of the account.')
output endpoint string = account.properties.documentEndpoint

@description('Name of the database.')
output databaseName string = database.name

@description('Name of the container.')
output containerName string = container.name
