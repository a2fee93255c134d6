import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAuthorizer } from '../../../../core/auth/authorizer.ts'
import { OpenCalls } from '../../../../core/auth/revocable-calls.ts'
import { createAccount, createRule, MemoryAuthSource } from '../../../fixtures/auth-source.ts'

const resource = { type: 'service', name: 'greeter', endpoint: 'A.Watch' }
const DENY_ALL = { id: 'deny-all', access: 'DENIED' } as const

function open(t: Test) {
  const source = new MemoryAuthSource()
  const authorizer = createAuthorizer(source)
  const calls = new OpenCalls(authorizer)
  t.teardown(() => {
    calls.close()
    authorizer.close()
  })
  const ended: string[] = []
  const add = async (name: string, options?: Parameters<typeof source.issue>[1]) => {
    const token = await source.issue(createAccount(), options)
    const input = { metadata: `authorization: Bearer ${token}\r\n`, resource, domain: 'mx' }
    await authorizer.decide({ namespace: 'mx', account: undefined, resource })
    const session = await authorizer.identify(token)
    return calls.add(input, session, ({ code }) => void ended.push(`${name} ${code}`))
  }
  const change = (rule: Parameters<typeof createRule>[0]) =>
    new Promise<void>((resolve) => {
      const alive = setInterval(() => {}, 1000)
      const stop = authorizer.onChange(() => {
        stop()
        clearInterval(alive)
        resolve()
      })
      source.setRules('mx', createRule(rule))
    })
  return { calls, add, ended, change }
}

t.test('an open call ends once when a rule denies it', async (t) => {
  const { add, ended, change } = open(t)
  await add('a')
  await change(DENY_ALL)
  t.same(ended, ['a 401'])
  await change({})
  await change(DENY_ALL)
  t.same(ended, ['a 401'])
})

t.test('settled calls and calls after close are not ended', async (t) => {
  const { calls, add, ended, change } = open(t)
  const settle = await add('a')
  await add('b')
  settle()
  await change(DENY_ALL)
  t.same(ended, ['b 401'])
  await change({})
  await add('c')
  calls.close()
  await change(DENY_ALL)
  t.same(ended, ['b 401'])
})

t.test('a timer that fires before its token expires is set again', async (t) => {
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  const { add, ended } = open(t)
  // Including 30 s of tolerated clock skew, the token expires in one to two seconds.
  await add('a', { lifeS: 1, nowMs: now() - 29_000 })
  Date.now = () => now() - 500
  while (ended.length === 0) await delay(10)
  t.same(ended, ['a 401'])
})
