import t from 'tap'
import {
  AUDIT_TOPIC,
  hasAuditEvents,
  QUOTA_TOPIC,
  RUNTIME_TOPIC,
  rejectReserved,
} from '../../../services/events/reserved.ts'
import { openPlatformEvents } from '../../fixtures/platform-events.ts'

const REJECTION = { code: 403, message: /^the topic auth of mx is the audit/ }

t.test('the auth topic of namespace mx is reserved in any letter case', async (t) => {
  t.throws(() => rejectReserved(AUDIT_TOPIC, 'id'), { ...REJECTION, id: 'id' })
  t.throws(() => rejectReserved({ namespace: 'mx', topic: 'Auth' }, 'id'), {
    code: 403,
    message: /^the topic Auth of mx is the audit/,
  })
  rejectReserved({ namespace: 'foo', topic: 'auth' }, 'id')
  rejectReserved({ namespace: 'mx', topic: 'auth.dead' }, 'id')
})

t.test('the auth topic and its dead letters contain audit events', async (t) => {
  for (const topic of ['auth', 'AUTH', 'auth.dead', 'Auth.Dead']) {
    t.ok(hasAuditEvents({ namespace: 'mx', topic }), topic)
    t.notOk(hasAuditEvents({ namespace: 'foo', topic }))
  }
  for (const topic of ['auth2', 'auth.dead.dead', 'orders.dead'])
    t.notOk(hasAuditEvents({ namespace: 'mx', topic }))
})

t.test('the audit topic can be read through the service but not written or deleted', async (t) => {
  const { call, events } = await openPlatformEvents(t)
  await events.publish(AUDIT_TOPIC, { payload: Buffer.from('record') })
  await t.rejects(call('Stream.Publish', { topic: 'auth' }), REJECTION)
  await t.rejects(call('Stream.DeleteTopic', { topic: 'auth' }), REJECTION)
  t.match(await call('Store.Read', { topic: 'auth' }), { events: [{ sequence: 1 }] })
  await call('Stream.Publish', { topic: 'auth' }, { namespace: 'foo' })
  await call('Stream.DeleteTopic', { topic: 'auth' }, { namespace: 'foo' })
})

t.test(
  'events of the runtime are published only by the platform, and read by services',
  async (t) => {
    const { call, events } = await openPlatformEvents(t)
    await events.publish(RUNTIME_TOPIC, { payload: Buffer.from('record') })
    for (const topic of ['runtime', 'Runtime', 'runtime.dead', 'Runtime.Dead'])
      await t.rejects(call('Stream.Publish', { topic }), {
        code: 403,
        message: /^only the runtime service may publish to the topic/,
      })
    t.match(await call('Store.Read', { topic: 'runtime' }), { events: [{ sequence: 1 }] })
    await call('Stream.Publish', { topic: 'runtime' }, { namespace: 'foo' })
  },
)

t.test('only the auth service publishes to the topic of request quotas', async (t) => {
  const { call, events } = await openPlatformEvents(t)
  await events.publish(QUOTA_TOPIC, { payload: Buffer.from('event') })
  for (const topic of ['request-quotas', 'Request-Quotas', 'request-quotas.dead'])
    await t.rejects(call('Stream.Publish', { topic }), {
      code: 403,
      message: `only the auth service may publish to the topic ${topic} of mx; choose another topic`,
    })
  await call('Stream.Publish', { topic: 'request-quotas' }, { namespace: 'foo' })
})
