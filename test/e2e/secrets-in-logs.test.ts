import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runMx } from '../fixtures/mx.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

// A server, a login and a program in separate processes.
t.setTimeout(120_000)

const ACCOUNT_SECRET = 'secret-of-jane-4711'
const WRONG_SECRET = 'wrong-secret-4712'
const CONFIG_SECRET = 'secret-of-config-4713'
const RUN_SECRET = 'secret-of-program-4714'

t.test('debug logs contain no passwords, tokens or secrets', async (t) => {
  const args = ['--profile=local', '--log_level=debug', '--access_log=on']
  const server = await startServerProcess(t, args)
  const { gateway, home } = server
  const password = readFileSync(join(home, '.mx/admin_password'), 'utf8').trim()
  const post = async (path: string, body: object, token = '') => {
    const reply = await fetch(`${gateway}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    })
    return reply.json()
  }
  const { token } = await post('/auth/token', { id: 'admin', secret: password })
  const { access_token: access, refresh_token: refresh } = token
  t.match(await post('/auth/generate', { id: 'jane', secret: ACCOUNT_SECRET }, access), {
    account: { id: 'jane' },
  })
  const query = new URLSearchParams({ id: 'jane', secret: ACCOUNT_SECRET })
  t.equal((await fetch(`${gateway}/auth/token?${query}`)).status, 200)
  t.match(await post('/auth/token', { id: 'jane', secret: WRONG_SECRET }), { Code: 400 })
  t.match(await post('/auth/rules/list', {}, `${access}x`), { Code: 401 })
  const set = {
    path: 'db.password',
    value: { data: JSON.stringify(CONFIG_SECRET) },
    options: { secret: true },
  }
  t.match(await post('/config/set', set, access), { version: 1 })

  const cwd = makeTempFolder(t, 'client')
  mkdirSync(join(cwd, 'page'))
  writeFileSync(
    join(cwd, 'page/main.js'),
    "require('node:http').createServer().listen(process.env.PORT, '127.0.0.1')",
  )
  const env = { HOME: cwd, MX_ENV_LOCAL_ADDRESS: server.proxy }
  const mx = (...args: string[]) => runMx(args, { cwd, env })
  t.match(await mx('login', 'admin', `--password=${password}`), { code: 0 })
  t.match(await mx('run', './page', '--protocol=http', `--secrets=KEY=${RUN_SECRET}`), { code: 0 })
  t.match(await mx('kill', 'page'), { code: 0 })

  const key = readFileSync(join(home, '.mx/config_secret_key'), 'utf8').trim()
  const { secret } = JSON.parse(readFileSync(join(home, '.mx/service_credentials'), 'utf8'))
  const log = server.output.stdout + server.output.stderr
  t.match(log, '/config/set', 'the log contains requests')
  const secrets = { password, access, refresh, key, secret }
  for (const [name, text] of Object.entries({
    ...secrets,
    ...{ ACCOUNT_SECRET, WRONG_SECRET, CONFIG_SECRET, RUN_SECRET },
  }))
    t.notOk(log.includes(text), name)
})
