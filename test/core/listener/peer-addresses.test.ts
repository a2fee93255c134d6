import t from 'tap'
import { PeerAddresses, toAddress } from '../../../core/listener/peer-addresses.ts'

const bytes = (...octets: number[]): ArrayBuffer => new Uint8Array(octets).buffer

t.test(
  'addresses are formatted as IPv4, short IPv6 (RFC 5952), and mapped IPv4 as IPv4',
  async (t) => {
    const zeros = (count: number): number[] => new Array(count).fill(0)
    t.equal(toAddress(bytes(192, 0, 2, 7)), '192.0.2.7')
    t.equal(toAddress(bytes(255, 255, 255, 255)), '255.255.255.255')
    t.equal(toAddress(bytes(...zeros(15), 1)), '::1')
    t.equal(toAddress(bytes(0x20, 1, 0xd, 0xb8, ...zeros(11), 0x1f)), '2001:db8::1f')
    t.equal(toAddress(bytes(...zeros(10), 255, 255, 10, 0, 0, 1)), '10.0.0.1')
    t.equal(toAddress(bytes()), '', 'a Unix socket')
  },
)

t.test(
  'the only address is known only while all open connections have the same address',
  async (t) => {
    const peers = new PeerAddresses()
    t.equal(peers.only, undefined)
    peers.opened(bytes(10, 0, 0, 1))
    peers.opened(bytes(10, 0, 0, 1))
    t.equal(peers.only, '10.0.0.1')
    peers.opened(bytes(10, 0, 0, 2))
    t.equal(peers.only, undefined)
    peers.closed()
    peers.opened(bytes(10, 0, 0, 1))
    t.equal(peers.only, undefined, 'it is unknown which connection closed')
    for (let i = 0; i < 3; i++) peers.closed()
    peers.opened(bytes(10, 0, 0, 3))
    t.equal(peers.only, '10.0.0.3')
  },
)
