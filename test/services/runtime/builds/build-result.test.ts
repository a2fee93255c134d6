import t from 'tap'
import { parseBuildResult } from '../../../../services/runtime/builds/build-result.ts'

const BUILT = {
  ...{ folder: '/builds/a/app', command: ['node', 'a.js'], env: { PATH: '/bin' } },
  ...{ protocol: 'http', port: 80, instances: 2, resources: { cpus: 1 }, language: 'node' },
}
const parse = (value: unknown) => parseBuildResult(JSON.stringify(value), '/builds/a')

t.test('parses a program in the build folder or a failure', async (t) => {
  t.strictSame(parse({ built: BUILT }), { built: BUILT })
  const failure = { code: 400, message: 'build failed' }
  t.strictSame(parse({ failure }), { failure })
})

t.test('rejects a forged result', async (t) => {
  for (const change of [
    { folder: '/builds/b' },
    { folder: '/builds/a/../b' },
    { folder: 'app' },
    { command: [] },
    { command: 'sh' },
    { env: { 'A=B': 'c' } },
    { env: { A: 1 } },
    { instances: 1e9 },
    { port: 0 },
    { protocol: 'ftp' },
  ])
    t.equal(parse({ built: { ...BUILT, ...change } }), undefined, JSON.stringify(change))
  for (const code of [200, 600, 'a']) t.equal(parse({ failure: { code, message: '' } }), undefined)
  t.equal(parseBuildResult('', '/builds/a'), undefined)
  t.equal(parse(null), undefined)
})
