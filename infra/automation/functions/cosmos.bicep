// Cosmos DB, where everything that the handler knows is kept: one account, one database,
// one container. See docs/decisions/0003, 0004 and 0029.
//
// A throughput that was changed by hand is set back by the next deployment.

@description('Name of the account.')
@minLength(3)
@maxLength(44)
param accountName string

@description('Region of the account.')
param location string

@description('Tags of the account and its private endpoint.')
param tags object

@description('How throughput is paid: serverless, by request and with 5,000 RU/s to begin with; or autoscale, between a tenth of a maximum and that maximum.')
@allowed([
  'serverless'
  'autoscale'
])
param capacity string

@description('The most RU/s of autoscale, in steps of 1,000.')
@minValue(1000)
@maxValue(1000000)
param maximumThroughput int

@description('How far back the account can be restored to any moment.')
@allowed([
  'Continuous7Days'
  'Continuous30Days'
])
param backup string

@description('Three zones instead of one.')
param zoneRedundant bool

@description('Closed to the public, with a private endpoint; else open to whoever has a role.')
param privateNetwork bool

@description('Resource id of the subnet of private endpoints; empty in the public mode.')
param privateEndpointSubnetId string

@description('Name of the private endpoint.')
param privateEndpointName string

@description('Name of the app\'s identity, from which the names of role assignments are derived.')
param identityName string

@description('Object id of the app\'s identity.')
param principalId string

@description('Resource id of the workspace that takes the logs.')
param workspaceId string

// Of Cosmos DB's own roles, which are no Azure roles: made by the account itself.
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
    // The handler decides by what it reads, and a worker may answer within milliseconds of
    // what was written: see docs/decisions/0003. With one region that costs no time.
    consistencyPolicy: {
      defaultConsistencyLevel: 'Strong'
    }
    // For good: an account is made as one or the other.
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
    // No keys: tokens and the roles below.
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
      // The same file that the local container is made with. Nothing expires by itself:
      // without defaultTtl, items stay until they are deleted.
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

// Reads and writes items and reads what the SDK must know of the account; makes and
// changes no container. The database is all there is: nothing else is open by this.
resource access 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = {
  parent: account
  name: guid(account.id, identityName, roles.cosmosBuiltInDataContributor)
  properties: {
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${roles.cosmosBuiltInDataContributor}'
    principalId: principalId
    scope: '${account.id}/dbs/${database.name}'
  }
  // The account refuses a change while another one is made: container, role and endpoint
  // are made one after another.
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

// Who changed the account. Each single read and write is not logged: what they cost shows
// in the figures, what they did in the audit trail that the program keeps itself.
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
        // Which partition keys take the throughput.
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

@description('Name of the account.')
output accountName string = account.name

@description('Address of the account.')
output endpoint string = account.properties.documentEndpoint

@description('Name of the database.')
output databaseName string = database.name

@description('Name of the container.')
output containerName string = container.name
