import ipaddr from 'ipaddr.js'
import t from 'tap'
import { type AddressKind, findKind } from '../../../core/egress/address-kind.ts'

const KINDS: Readonly<Record<AddressKind, readonly string[]>> = {
  public: ['8.8.8.8', '192.0.2.7', '2001:db8::7', '64:ff9b::808:808', '2002:808:808::1'],
  private: ['10.0.0.1', '172.31.0.1', '192.168.1.1', '100.64.0.1', 'fd00::1', '64:ff9b::a00:1'],
  'this server': [],
  loopback: [
    '127.0.0.1',
    '127.255.255.255',
    '::1',
    '::1%lo',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b:1::127.0.0.1',
    '64:ff9b:1:7f00:0:100::',
    '2002:7f00:1::',
    '2001:0:7f00:1::',
    '2001:0:808:808::80ff:fffe',
    '2001:db8::5efe:127.0.0.1',
  ],
  'link-local': [
    '169.254.169.254',
    'fe80::1',
    'fe80::1%eth0',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
  ],
  'cloud metadata': ['100.100.100.200', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'],
  unspecified: ['0.0.0.0', '0.1.2.3', '::'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  reserved: ['240.0.0.1', '255.255.255.255', '192.0.0.192'],
}

t.test('an address that embeds an IPv4 address has the kind of the IPv4 address', async (t) => {
  for (const [kind, addresses] of Object.entries(KINDS))
    for (const address of addresses) t.equal(findKind(ipaddr.process(address)), kind, address)
})
