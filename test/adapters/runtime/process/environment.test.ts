import t from 'tap'
import { toEnvironment, toMark } from '../../../../adapters/runtime/process/environment.ts'

const COPY = { instance: 'c0ffee', home: '/home', temp: '/tmp', port: undefined }

t.test('inherits only variables without secrets', async (t) => {
  process.env['LC_ALL'] = 'C.UTF-8'
  process.env['NODE_OPTIONS_OF_TEST'] = 'secret'
  t.teardown(() => {
    delete process.env['LC_ALL']
    delete process.env['NODE_OPTIONS_OF_TEST']
  })
  const env = toEnvironment({ A: 'b' }, COPY)
  t.match(env, { A: 'b', HOME: '/home', TMPDIR: '/tmp', MX_INSTANCE: 'c0ffee', LC_ALL: 'C.UTF-8' })
  t.notOk('NODE_OPTIONS_OF_TEST' in env)
  t.notOk('PORT' in env)
  t.equal(toMark('c0ffee'), `MX_INSTANCE=${env['MX_INSTANCE']}`)
})

t.test('prefers workload variables except variables of the instance', async (t) => {
  const instanceVariables = {
    PATH: '/bin',
    HOME: '/data',
    TMPDIR: '/scratch',
    MX_INSTANCE: 'x',
    PORT: '1',
  }
  const env = toEnvironment(instanceVariables, { ...COPY, port: 8000 })
  t.match(env, { ...instanceVariables, MX_INSTANCE: 'c0ffee', PORT: '8000' })
  t.match(toEnvironment(instanceVariables, COPY), { PORT: '1' })
})
