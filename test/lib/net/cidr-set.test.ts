import t from 'tap'
import { containsRange, createCidrSet } from '../../../lib/net/cidr-set.ts'

t.test('an address is inside if one of the ranges contains it', async (t) => {
  const set = createCidrSet(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', 'loopback'], 'trusted')
  for (const inside of [
    '10.255.0.1',
    '192.0.2.7',
    '2001:db8:1::9',
    '127.0.0.9',
    '::1',
    '::ffff:10.0.0.1',
  ]) {
    t.ok(set.lookup(inside).inside, inside)
  }
  for (const outside of [
    '11.0.0.1',
    '192.0.2.8',
    '2001:db9::1',
    '',
    'unix',
    'example.com',
    '010.0.0.1',
    '0xa.0.0.1',
    '10.1',
  ]) {
    t.notOk(set.lookup(outside).inside, outside)
  }
})

t.test('an address has one canonical text and one form for Forwarded', async (t) => {
  const set = createCidrSet([], 'trusted')
  t.match(set.lookup('2001:0db8:0000:0000:0000:0000:0000:0001'), {
    address: '2001:db8::1',
    node: '"[2001:db8::1]"',
  })
  t.match(set.lookup('::ffff:192.0.2.1'), { address: '192.0.2.1', node: '192.0.2.1' })
  t.match(set.lookup('192.0.2.1:4711'), { address: '192.0.2.1' })
  t.match(set.lookup('[2001:db8::1]:4711'), { address: '2001:db8::1' })
  t.match(set.lookup('nonsense'), { address: '', node: 'unknown' })
})

t.test('peers of a Unix socket are inside only if `unix` is listed', async (t) => {
  t.ok(createCidrSet(['unix'], 'trusted').lookup('').inside)
  t.notOk(createCidrSet(['unix'], 'trusted').lookup('nonsense').inside)
  t.notOk(createCidrSet(['0.0.0.0/0'], 'trusted').lookup('').inside)
})

t.test('lookups of more addresses than the cache holds are correct', async (t) => {
  const set = createCidrSet(['10.0.0.0/8'], 'trusted')
  for (let i = 0; i < 12_000; i++) {
    const address = `${i % 2 === 0 ? 10 : 11}.0.${i >> 8}.${i & 255}`
    if (set.lookup(address).inside !== (i % 2 === 0)) t.fail(address)
  }
  t.ok(set.lookup('10.0.0.0').inside)
})

t.test('an invalid range is rejected with the name of its option', async (t) => {
  for (const bad of [
    '10.0.0.0/33',
    '127.0.0.1:80',
    '[::1]:80',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/-1',
    'example.com',
    '',
    '10/8',
    '10.0.0.0/8/8',
  ]) {
    t.throws(() => createCidrSet([bad], 'trusted'), /^trusted must be address ranges such as/, bad)
  }
})

t.test('containsRange compares ranges of the same family, and words', async (t) => {
  for (const inner of ['10.0.0.0/8', '10.1.0.0/16', '10.1.2.3', '::1', 'loopback', 'unix'])
    t.ok(containsRange(['10.0.0.0/8', 'loopback', 'unix'], inner), inner)
  for (const inner of ['0.0.0.0/0', '10.0.0.0/7', '::/0', 'private', '192.168.0.1'])
    t.notOk(containsRange(['10.0.0.0/8', 'loopback'], inner), inner)
  t.notOk(containsRange(['0.0.0.0/0'], 'unix'))
  t.notOk(containsRange(['0.0.0.0/0'], '::1'))
})
