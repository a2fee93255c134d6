import t from 'tap'
import {
  findServerId,
  isDestination,
  isServerId,
  isShared,
  toServerKey,
} from '../../../domain/mesh/names.ts'

t.test('shares all services except built-in ones, in any letter case', (t) => {
  for (const name of [
    'auth',
    'broker',
    'config',
    'events',
    'network',
    'registry',
    'runtime',
    'store',
    'AUTH',
    'sTore',
  ])
    t.notOk(isShared(name), name)
  for (const name of ['greeter', 'shop.store', 'stores', 'constructor']) t.ok(isShared(name), name)
  t.end()
})

t.test('checks server ids', (t) => {
  for (const id of ['a', 'host-1.example_2', 'A9', 'x'.repeat(100)]) t.ok(isServerId(id), id)
  for (const id of ['', '-a', 'a-', '.', 'a b', 'a\n', '@a', 'ä', 'x'.repeat(101)])
    t.notOk(isServerId(id), JSON.stringify(id))
  t.end()
})

t.test('distinguishes services and servers as destinations', (t) => {
  t.equal(findServerId(toServerKey('a')), 'a')
  t.equal(findServerId('a'), undefined)
  for (const key of ['greeter', 'go.mx.api.greeter', '@a-1']) t.ok(isDestination(key), key)
  for (const key of ['', '@', '@@a', 'a/b', '__proto__', '@a b']) t.notOk(isDestination(key), key)
  t.end()
})
