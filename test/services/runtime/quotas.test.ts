import t from 'tap'
import { createQuota, noQuota } from '../../../core/limits/quota.ts'
import { createAdmission } from '../../../services/runtime/quotas.ts'
import { type ServiceRecord, toObjectKey } from '../../../services/runtime/state/records.ts'
import { makeRecord } from './parts.ts'

const ID = 'runtime.Runtime.Create'
const ACME = { namespace: 'acme', name: 'shop', version: 'latest' }

function open(programs: number, builds: number) {
  const records = new Map<string, ServiceRecord>()
  const limit = (name: string, limit: number) => createQuota(name, { limit, namespaces: {} })
  const admission = createAdmission(
    { programs: limit('quota_programs', programs), builds: limit('quota_builds', builds) },
    records,
  )
  const add = (part: Partial<ServiceRecord>): void => {
    const record = makeRecord({ ...ACME, ...part })
    records.set(toObjectKey(record), record)
  }
  return { admission, records, add }
}

t.test('limits the programs of a namespace to its quota', (t) => {
  const { admission, add } = open(2, 10)
  add({ name: 'a', settled: 'one' })
  const release = admission.admit({ ...ACME, name: 'b' }, true, ID)
  t.throws(() => admission.admit({ ...ACME, name: 'c' }, true, ID), {
    ...{ id: ID, code: 429 },
    message:
      'quota_programs reached in namespace acme: 2 of 2 programs in use; delete programs, or raise the quota (quota_programs=acme=...)',
  })
  admission.admit({ ...ACME, name: 'a' }, true, ID)()
  admission.admit({ ...ACME, namespace: 'other', name: 'c' }, true, ID)()
  for (let i = 0; i < 5; i++) admission.admit({ ...ACME, namespace: 'mx', name: `p${i}` }, true, ID)
  release()
  admission.admit({ ...ACME, name: 'c' }, true, ID)
  t.end()
})

t.test('limits queued and running builds of a namespace to its quota', (t) => {
  const { admission, add } = open(10, 2)
  add({ name: 'a', settled: '' })
  add({ name: 'b', settled: 'one' })
  const release = admission.admit({ ...ACME, name: 'b' }, true, ID)
  t.throws(() => admission.admit({ ...ACME, name: 'c' }, true, ID), {
    code: 429,
    message: /^quota_builds reached in namespace acme: 2 of 2 builds in use; /,
  })
  admission.admit({ ...ACME, name: 'a' }, true, ID)()
  release()
  admission.admit({ ...ACME, name: 'c' }, true, ID)
  t.end()
})

t.test('does not count restarts, rollbacks and images as builds', (t) => {
  const { admission, add } = open(10, 2)
  const image = { ...makeRecord({}).wish, image: 'shop:1' }
  add({ name: 'a', settled: '', asked: { id: 'two', kind: 'restart', upload: '' } })
  add({ name: 'b', settled: '', asked: { id: 'two', kind: 'rollback', upload: '' } })
  add({ name: 'c', settled: '', wish: image })
  admission.admit({ ...ACME, name: 'd' }, false, ID)
  for (const name of ['e', 'f']) admission.admit({ ...ACME, name }, true, ID)
  t.throws(() => admission.admit({ ...ACME, name: 'g' }, true, ID), { code: 429 })
  admission.admit({ ...ACME, name: 'g' }, false, ID)
  t.end()
})

t.test('admits everything without quotas', (t) => {
  const programs = noQuota('quota_programs')
  const admission = createAdmission({ programs, builds: noQuota('quota_builds') }, new Map())
  for (let i = 0; i < 100; i++) admission.admit({ ...ACME, name: `p${i}` }, true, ID)
  t.end()
})
