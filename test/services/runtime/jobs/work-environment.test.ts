import { dirname } from 'node:path'
import t from 'tap'
import { toPath, toWorkEnvironment } from '../../../../services/runtime/jobs/work-environment.ts'

t.test('passes tool locations to builds, but nothing about the server', async (t) => {
  const before = { ...process.env }
  t.teardown(() => {
    process.env = before
  })
  process.env = { PATH: '/bin', MX_TOKEN: 's', AWS_SECRET: 's', HTTPS_PROXY: 'http://p', LANG: 'C' }
  t.strictSame(toWorkEnvironment('/home/x'), {
    HOME: '/home/x',
    TMPDIR: '/home/x',
    PATH: `${dirname(process.execPath)}:/bin`,
    HTTPS_PROXY: 'http://p',
    LANG: 'C',
  })
  t.equal(toPath(['/a', '/b']), `/a:/b:${dirname(process.execPath)}:/bin`)
})
