import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { createStore } from '../../../../domain/store/store.ts'
import { createObjects } from '../../../../services/runtime/state/objects.ts'
import type { ServiceRecord } from '../../../../services/runtime/state/records.ts'
import { makeRecord } from '../parts.ts'

function open(t: Test) {
  return openLimited(t).objects
}

function openLimited(t: Test, maxBytes?: number) {
  const store = createStore(createMemoryStore(maxBytes === undefined ? {} : { maxBytes }))
  t.teardown(store.close)
  return { store, objects: createObjects(store) }
}

t.test('requests of tenants do not use the reserve of a full store', async (t) => {
  const { store, objects } = openLimited(t, 100_000)
  const record = makeRecord({ namespace: 'acme' })
  await objects.add(record)
  const table = { database: 'acme', table: 'a' }
  const fill = async (): Promise<void> => {
    for (let i = 0; ; i++) await store.commit([{ table, key: String(i), value: Buffer.alloc(0) }])
  }
  await t.rejects(fill(), { code: 507 })
  const longer = (record: ServiceRecord) => ({ ...record, source: 'a'.repeat(500) })
  await t.rejects(objects.add({ ...record, name: 'other' }), { code: 507 })
  await t.rejects(objects.change(record, longer, true), { code: 507 })
  t.ok(await objects.change(record, longer), 'but state changes do')
  t.ok(await objects.add(makeRecord()), 'and so do requests of operators')
  t.equal(await objects.change(record, () => undefined), undefined)
})

t.test('rejects a duplicate name in a namespace', async (t) => {
  const objects = open(t)
  t.ok(await objects.add(makeRecord()))
  t.notOk(await objects.add(makeRecord()))
  t.ok(await objects.add(makeRecord({ version: 'v2' })))
  t.ok(await objects.add(makeRecord({ namespace: 'acme' })))
  t.same((await objects.list('mx')).records.length, 2)
  t.same((await objects.list('mx', 'hello')).records.length, 0, 'a name is not matched by a prefix')
  t.same((await objects.list('acme', 'helloworld')).records.length, 1)
})

t.test('without a version, finds latest or the only version', async (t) => {
  const objects = open(t)
  const find = (version: string) => objects.find('mx', { name: 'helloworld', version }, 'x')
  await t.rejects(find(''), { code: 404, message: 'service not found: helloworld@latest' })
  await objects.add(makeRecord({ version: 'typo', settled: 'one', status: 'error' }))
  t.match(await find(''), { version: 'typo' })
  await objects.add(makeRecord({ version: 'v1' }))
  t.match(await find(''), { version: 'v1' })
  await t.rejects(find('v2'), {
    message: 'service not found: helloworld@v2; existing versions: typo, v1',
  })
  await objects.add(makeRecord({ version: 'v2' }))
  await t.rejects(find(''), {
    code: 400,
    message: /helloworld has several versions, .*: typo, v1, v2/,
  })
  await objects.add(makeRecord())
  t.match(await find(''), { version: 'latest' })
  await t.rejects(objects.find('mx', { name: '', version: '' }, 'x'), { code: 400 })
})

t.test('applies concurrent changes without losing any of them', async (t) => {
  const objects = open(t)
  const record = makeRecord()
  await objects.add(record)
  const changes = Array.from({ length: 5 }, () =>
    objects.change(record, (now) => ({ ...now, retries: now.retries + 1 })),
  )
  await Promise.all(changes)
  t.match(await objects.read(record), { retries: 5 })
  const same = await objects.change(record, (now) => now)
  t.match(same, { retries: 5 })
  t.equal(await objects.change(record, () => undefined), undefined)
  t.equal(await objects.read(record), undefined)
  t.equal(await objects.change(record, (now) => now), undefined)
})
