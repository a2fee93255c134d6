import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { openAdmin } from '../../../platform/admin/open-admin.ts'
import { createReadiness } from '../../../platform/admin/readiness.ts'
import { configurationFrom } from '../../../platform/config/load.ts'
import { createLog } from '../../../platform/process/log.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import type { Settings } from '../../../platform/settings/settings.ts'
import { listen } from '../../fixtures/listen.ts'

const LOG = createLog('silent')
const toLoopback = (url = ''): string => url.replace(/\[::\]|0\.0\.0\.0/, '127.0.0.1')

/** @param defaults settings that are not set explicitly. */
async function open(t: Test, flags: readonly string[], defaults: Partial<Settings> = {}) {
  const { settings, inputs } = await configurationFrom(readFlags(flags), {})()
  const configuration = { settings: { ...settings, ...defaults }, inputs }
  const admin = await openAdmin(configuration, {
    readiness: createReadiness(),
    scrape: async () => ({ type: 'text/plain', text: '' }),
    log: LOG,
  })
  t.teardown(admin.close)
  return admin
}

const status = async (url: string | undefined, host?: string): Promise<number> => {
  const { request } = await import('node:http')
  const pending = request(`${url}/livez`, { headers: host === undefined ? {} : { host } }).end()
  const [response] = await once(pending, 'response')
  response.resume()
  return response.statusCode
}

t.test('opens the configured address, or none', async (t) => {
  const { url, warning } = await open(t, ['--admin_address=127.0.0.1:0'])
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.equal(warning, undefined)
  t.equal(await status(url), 200)
  t.match(await open(t, ['--admin_address=none']), { url: undefined, warning: undefined })
})

t.test('on loopback, it accepts local hosts and the names in --hosts', async (t) => {
  const { url } = await open(t, ['--admin_address=127.0.0.1:0'])
  t.equal(await status(url, 'localhost'), 200)
  t.equal(await status(url, 'rebound.example.com'), 403)
  const named = await open(t, ['--admin_address=127.0.0.1:0', '--hosts=admin.example.com'])
  t.equal(await status(named.url, 'admin.example.com'), 200)
  t.equal(await status(named.url, 'other.example.com'), 403)
})

t.test('on other addresses, it accepts any host unless --hosts lists hosts', async (t) => {
  const { url } = await open(t, ['--admin_address=:0'])
  t.equal(await status(toLoopback(url), 'mx.default.svc'), 200)
  const listed = await open(t, ['--admin_address=:0', '--hosts=local'])
  t.equal(await status(toLoopback(listed.url), 'mx.default.svc'), 403)
})

t.test('fails for an explicit port in use, and warns for the default port', async (t) => {
  const port = await listen(t, createServer())
  await t.rejects(open(t, [`--admin_address=127.0.0.1:${port}`]), {
    message: `address 127.0.0.1:${port} is in use by another program; choose another with --admin_address or MX_ADMIN_ADDRESS`,
  })
  const { url, warning } = await open(t, [], { adminAddress: { host: '127.0.0.1', port } })
  t.equal(url, undefined)
  t.match(warning, /^no \/livez, \/readyz and \/metrics: address .* is in use by another program/)
})

t.test('skips the default address if the gateway uses it', async (t) => {
  const { url, warning } = await open(t, ['--address=:8089'])
  t.equal(url, undefined)
  t.match(warning, /another setting uses the address/)
})
