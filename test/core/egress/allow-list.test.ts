import { networkInterfaces } from 'node:os'
import t from 'tap'
import { classify, createAllowList } from '../../../core/egress/allow-list.ts'

function has(ranges: readonly string[], address: string): boolean {
  return createAllowList(ranges, 'list').has(classify(address)!)
}

t.test('unusual IPv4 notations are rejected, IPv6 notations are normalized', async (t) => {
  for (const text of ['127.1', '2130706433', '0x7f.0.0.1', '0177.0.0.1', 'localhost', ''])
    t.equal(classify(text), undefined, text)
  t.match(classify('::ffff:7f00:1'), { text: '127.0.0.1', kind: 'loopback' })
  t.match(classify('2001:DB8:0::7'), { text: '2001:db8::7', kind: 'public' })
})

t.test('keywords and ranges allow their addresses', async (t) => {
  t.ok(has(['public'], '8.8.8.8'))
  t.notOk(has(['public'], '192.168.1.1'))
  t.ok(has(['private'], '192.168.1.1'))
  t.ok(has(['10.1.0.0/16', '2001:db8::/32'], '10.1.2.3'))
  t.ok(has(['10.1.0.0/16', '2001:db8::/32'], '2001:db8::1'))
  t.notOk(has(['10.1.0.0/16'], '10.2.0.1'))
  t.notOk(has([], '8.8.8.8'))
})

t.test('wide ranges do not allow loopback, link-local or metadata addresses', async (t) => {
  const all = ['0.0.0.0/0', '::/0', 'private', 'public', 'fc00::/7', '100.64.0.0/10']
  const addresses = ['127.0.0.1', '::1', '169.254.169.254', 'fe80::1']
  for (const address of [...addresses, '100.100.100.200', 'fd00:ec2::254', '::ffff:127.0.0.1'])
    t.notOk(has(all, address), address)
  t.ok(has(['loopback'], '127.0.0.1'))
  t.ok(has(['127.0.0.0/8'], '127.0.0.2'))
  t.ok(has(['link-local'], '169.254.1.1'))
  t.ok(has(['169.254.169.254'], '169.254.169.254'))
  t.ok(has(['100.100.100.200'], '100.100.100.200'))
})

t.test('unspecified, multicast and reserved addresses are never allowed', async (t) => {
  const all = ['0.0.0.0/0', '::/0', '224.0.0.0/4', 'ff00::/8', '240.0.0.0/4', '0.0.0.0']
  for (const address of ['0.0.0.0', '::', '224.0.0.1', 'ff02::1', '255.255.255.255'])
    t.notOk(has(all, address), address)
})

t.test('addresses of this server are neither private nor public', async (t) => {
  const localAddress = Object.values(networkInterfaces())
    .flat()
    .map((found) => found!.address)
    .find((address) => !address.startsWith('127.') && !/^(?:::1|fe80:)/.test(address))
  if (localAddress === undefined) {
    t.pass('this server has only loopback addresses')
    return
  }
  t.equal(classify(localAddress)?.kind, 'this server')
  t.notOk(has(['private', 'public'], localAddress))
  t.ok(has(['loopback'], localAddress))
  t.ok(has([localAddress], localAddress))
  const wider = localAddress.includes(':')
    ? [`${localAddress.split(':')[0]}::/16`, '::/0']
    : [`${localAddress.split('.')[0]}.0.0.0/8`, '0.0.0.0/0']
  for (const range of wider) t.notOk(has([range], localAddress), range)
})

t.test('rejects a malformed range', async (t) => {
  t.throws(() => createAllowList(['10.0.0.0/33'], 'register_allow'), {
    message:
      'register_allow must be address ranges such as 10.0.0.0/8, 2001:db8::/32, public, private, loopback or link-local, got "10.0.0.0/33"',
  })
})
