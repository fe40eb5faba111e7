// The private DNS zones, by which names of services lead to their private endpoints
// from within the network, and their links to it.
//
// All zones are made here, also those of what the second stage makes: a zone can be
// linked to a network once only, and belongs to no component.

@description('Resource id of the virtual network that the zones answer in.')
param virtualNetworkId string

@description('Name of the links.')
param linkName string

@description('Tags of the zones and links.')
param tags object

var zoneNames = [
  'privatelink.documents.azure.com'
  'privatelink.servicebus.windows.net'
  'privatelink.vaultcore.azure.net'
  'privatelink.blob.${environment().suffixes.storage}'
  'privatelink.queue.${environment().suffixes.storage}'
  'privatelink.table.${environment().suffixes.storage}'
  'privatelink.azurewebsites.net'
]

// Zones are global: they have no region.
resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for zone in zoneNames: {
    name: zone
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (zone, i) in zoneNames: {
    parent: zones[i]
    name: linkName
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: virtualNetworkId
      }
    }
  }
]

@description('Names of the zones.')
output zoneNames array = zoneNames
