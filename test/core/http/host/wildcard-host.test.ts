import type { NetworkInterfaceInfo } from 'node:os'
import t from 'tap'
import { findWildcardHost, isWildcardHost } from '../../../../core/http/host/wildcard-host.ts'

const toInterface = (family: 'IPv4' | 'IPv6', address: string): NetworkInterfaceInfo =>
  ({ family, address, internal: true }) as NetworkInterfaceInfo

t.test('binds :: if the machine has IPv6, otherwise 0.0.0.0', async (t) => {
  const ipv4 = toInterface('IPv4', '127.0.0.1')
  t.equal(findWildcardHost({ lo: [ipv4, toInterface('IPv6', '::1')] }), '::')
  t.equal(findWildcardHost({ lo: [ipv4] }), '0.0.0.0')
  t.equal(findWildcardHost({}), '0.0.0.0')
})

t.test('isWildcardHost is true for :: and 0.0.0.0', async (t) => {
  t.ok(isWildcardHost('::') && isWildcardHost('0.0.0.0') && isWildcardHost(findWildcardHost()))
  t.notOk(isWildcardHost('::1') || isWildcardHost('127.0.0.1') || isWildcardHost(''))
})
