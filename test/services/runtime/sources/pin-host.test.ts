import t from 'tap'
import { pinHost } from '../../../../services/runtime/sources/pin-host.ts'

t.test('repositories of the server itself are not fetched', async (t) => {
  const hosts = ['127.0.0.1', '127.1', '2130706433', 'localhost', '0.0.0.0', '169.254.169.254']
  for (const host of [...hosts, '[::1]', '[::]', '[::ffff:127.0.0.1]', '[fe80::1]'])
    await t.rejects(pinHost(`https://${host}/a`), { code: 400, message: /the server itself/ }, host)
})

t.test('git asks the very address that was checked', async (t) => {
  t.equal(await pinHost('https://192.0.2.7/a'), '192.0.2.7:443:192.0.2.7')
  t.equal(await pinHost('https://10.0.0.7:8443/a'), '10.0.0.7:8443:10.0.0.7')
  await t.rejects(pinHost('https://there-is-none.invalid/a'), {
    code: 502,
    message: /there is no host there-is-none\.invalid/,
  })
})
