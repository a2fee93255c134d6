// Offline repair of a platform whose rules deny everything and whose administrator password is lost.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runMx } from '../fixtures/mx.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(120_000)

const home = makeTempFolder(t, 'home')
const folder = join(home, '.mx/server')
const mx = (...args: string[]) => runMx(args, { cwd: home, env: { HOME: home } })
const open = ({ proxy, token }: { readonly proxy: string; readonly token: string }) =>
  openClient(t, { proxy, token, retries: 0, timeoutMs: 60_000 })

t.test('mx auth reset restores the default rule and an admin password', async (t) => {
  const server = await startServerProcess(t, [], { home })
  const operator = open(server)
  const rule = {
    ...{ id: 'ban', scope: '', access: 'DENIED', priority: 1_000_000_000 },
    resource: { type: '*', name: '*', endpoint: '*' },
  }
  const otherRule = { ...rule, id: 'kept', resource: { ...rule.resource, name: 'billing' } }
  for (const newRule of [rule, otherRule])
    await operator.call('auth', 'Rules.Create', { rule: newRule, force: true })
  await operator.call('auth', 'Rules.Delete', { id: 'default', force: true })
  const secrets = { old_secret: server.auth.secret, new_secret: 'a lost password' }
  await operator.call('auth', 'Accounts.ChangeSecret', { id: 'admin', ...secrets })

  t.match(await mx('auth', 'reset'), {
    ...{ code: 1, stdout: '' },
    stderr: /in use by another mx server \(process \d+\): stop it/,
  })
  server.child.kill('SIGTERM')
  await server.ended

  const { code, stdout, stderr } = await mx('auth', 'reset', `--data_dir=${folder}`)
  t.same({ code, stderr }, { code: 0, stderr: '' })
  t.match(stdout, /^Deleted the rule ban\nRestored the rule default: /)
  const file = join(home, '.mx/admin_password')
  t.match(stdout, `Password of admin: ${readFileSync(file, 'utf8').trim()} (stored in ${file})\n`)
  t.equal(statSync(file).mode & 0o777, 0o600)

  const restarted = await startServerProcess(t, [], { home })
  t.not(restarted.auth.secret, server.auth.secret)
  const repaired = open(restarted)
  const { rules } = await repaired.call<{ rules: { id: string }[] }>('auth', 'Rules.List')
  t.same(
    rules.map(({ id }) => id),
    ['default', 'kept'],
  )
  const { events } = await repaired.call<{ events: { payload: string }[] }>(
    'events',
    'Store.Read',
    { topic: 'auth', limit: 1000 },
  )
  const audit = events.map(({ payload }) => JSON.parse(Buffer.from(payload, 'base64').toString()))
  t.match(
    audit.filter(({ action }) => action === 'access.reset'),
    [{ namespace: 'mx', target: 'admin', account: 'server' }],
  )
  const { status } = await fetch(`${restarted.gateway}/registry/listServices`)
  t.equal(status, 200, 'anonymous calls are allowed')
  await restarted.kill()
})
