import t from 'tap'
import cacheCommand from '../../../../cli/commands/platform/cache.ts'
import { openCachedBackend, toNumbered } from '../../../fixtures/caching-gateway.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { startMx } from '../../../fixtures/mx.ts'

const TOKEN = 'a long enough token'
const token = `--admin_token=${TOKEN}`

t.test('removes stored responses of all workers', async (t) => {
  const { run, home } = await openCliServer(t)
  const backend = await openCachedBackend(
    t,
    toNumbered('max-age=60', { 'surrogate-key': 'products' }),
  )
  for (const workers of [1, 2]) {
    const mx = startMx(
      [
        ...['api', '--address=127.0.0.1:0', '--admin_address=127.0.0.1:0', '--plugin=cache'],
        ...[`--backend=site=127.0.0.1:${backend.port}`, '--handler=proxy', `--workers=${workers}`],
      ],
      { cwd: home, env: { MX_ADMIN_TOKEN: TOKEN } },
    )
    t.teardown(async () => {
      mx.child.kill('SIGKILL')
      await mx.ended
    })
    const url = await mx.url()
    const ready = mx.log().find(({ msg }) => msg === 'gateway ready')
    const admin = `--admin=${String(ready?.['admin']).replace('http://', '')}`
    const get = async () => await (await fetch(`${url}/site/a`)).text()
    const before = await get()
    t.equal(
      await run(cacheCommand, 'purge', admin, token, '--path=/other'),
      'removed 0 responses\n',
    )
    const removed = await run(cacheCommand, 'purge', admin, token, '--group=products')
    t.match(removed, /^removed [1-9]\d* responses\n$/)
    t.not(await get(), before)
    await t.rejects(run(cacheCommand, 'purge', admin, '--admin_token=x', '--all'), {
      message: /invalid admin token/,
    })
  }
  await t.rejects(run(cacheCommand, 'purge', '--path=/a'), { message: /--admin is required/ })
  await t.rejects(run(cacheCommand, 'purge', '--admin=127.0.0.1:1', token), {
    message: /Select responses/,
  })
})
