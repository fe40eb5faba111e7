// A private endpoint and its record in the private DNS zone, for any service.

@description('Name of the endpoint.')
param endpointName string

@description('Region of the endpoint: that of its network.')
param location string

@description('Tags of the endpoint.')
param tags object

@description('Resource id of the subnet that the endpoint has its address in.')
param subnetId string

@description('Resource id of the service that the endpoint leads to.')
param targetId string

@description('Which part of the service: vault, namespace, Sql, blob, queue, table, sites.')
param groupId string

@description('Name of the private DNS zone, in this resource group, that takes the record.')
param zoneName string

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' existing = {
  name: zoneName
}

resource endpoint 'Microsoft.Network/privateEndpoints@2025-05-01' = {
  name: endpointName
  location: location
  tags: tags
  properties: {
    // Else the name of its network interface would be made up.
    customNetworkInterfaceName: '${endpointName}-nic'
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: endpointName
        properties: {
          privateLinkServiceId: targetId
          groupIds: [
            groupId
          ]
        }
      }
    ]
  }
}

// The group keeps the record as the endpoint's address is, also when it is made again.
resource record 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-05-01' = {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: groupId
        properties: {
          privateDnsZoneId: zone.id
        }
      }
    ]
  }
}

@description('Resource id of the endpoint.')
output endpointId string = endpoint.id
