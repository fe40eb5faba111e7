// The storage account of the artifacts: contexts, bundles, models, and the outputs of items.

@description('Name of the account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('Name of the container of the artifacts.')
param containerName string

@description('Region of the account.')
param location string

@description('Tags of the account and its private endpoint.')
param tags object

@description('True: a private endpoint. False: a public endpoint, protected by roles.')
param privateNetwork bool

@description('Resource id of the subnet of private endpoints; empty in the public mode.')
param privateEndpointSubnetId string

@description('Name of the private endpoint.')
param privateEndpointName string

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: accountName
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: 'Standard_LRS'
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    // No keys and no shared access signatures.
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
      virtualNetworkRules: []
      ipRules: []
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: containerName
  properties: {
    publicAccess: 'None'
  }
}

module endpoint '../../shared/private-endpoint.bicep' = if (privateNetwork) {
  name: privateEndpointName
  dependsOn: [
    container
  ]
  params: {
    endpointName: privateEndpointName
    location: location
    tags: tags
    subnetId: privateEndpointSubnetId
    targetId: account.id
    groupId: 'blob'
    zoneName: 'privatelink.blob.${environment().suffixes.storage}'
  }
}
