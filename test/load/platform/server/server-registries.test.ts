import t, { type Test } from 'tap'
import {
  openServerRegistries,
  type ServerRegistries,
} from '../../../../platform/server/server-registries.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { startConsul } from '../../../fixtures/consul.ts'
import { makeService } from '../../../fixtures/services.ts'

t.setTimeout(120_000)

const GREETER = makeService('greeter', ['127.0.0.1:9001'])

async function open(t: Test, text: string): Promise<ServerRegistries> {
  const registries = await openServerRegistries(text, {
    isLocal: () => false,
    onWarning: () => {},
  })
  t.teardown(registries.close)
  return registries
}

t.test('memory: a domain exists from the first registration until it is closed', async (t) => {
  const { registry, create, find, list, check } = await open(t, 'memory')
  await check()
  t.equal(create('mx'), registry, 'the default domain exists')
  t.equal(find('shop'), undefined)
  const shop = create('shop')
  t.equal(find('shop'), shop)
  t.equal(create('shop'), shop)
  t.same([...list()], ['mx', 'shop'])
  await shop.register!(GREETER)
  t.same(await registry.listServices(), [], 'domains are separate')
  await shop.close!()
  t.equal(find('shop'), undefined)
  t.not(create('shop'), shop)
})

t.test('kubernetes: domains other than the default one are empty and read-only', async (t) => {
  const { registry, create } = await open(t, 'kubernetes')
  t.equal(registry.name, 'kubernetes')
  const shop = create('shop')
  t.equal(shop.register, undefined)
  t.same(await shop.listServices(), [])
})

t.test('reports an unreachable registry without its token', async (t) => {
  const { check } = await open(t, 'consul://secret@127.0.0.1:1')
  await t.rejects(
    check(),
    /^the registry consul:\/\/\[hidden\]@127\.0\.0\.1:1 is not available: .*127\.0\.0\.1:1/,
  )
})

t.test('consul: a domain exists while any server has a registration in it', async (t) => {
  const agent = await startConsul(t)
  if (agent === undefined) return
  const text = `consul://${agent.host}:${agent.port}`
  const one = await open(t, text)
  const other = await open(t, text)
  // As in the directory of a gateway.
  one.registry.watch!(() => {})
  await one.check()
  t.equal(one.find('shop'), undefined)
  const shop = other.create('shop')
  await shop.register!(GREETER, { ttlSeconds: 90 })
  await waitUntil(() => one.find('shop') !== undefined, 20_000)
  t.equal(one.find('shop'), one.find('shop'))
  await waitUntil(async () => (await one.find('shop')!.getService('greeter')).length === 1, 20_000)
  t.same([...one.list()].sort(), ['mx', 'shop'])
  await shop.deregister!(GREETER)
  await waitUntil(() => one.find('shop') === undefined, 20_000)
})
