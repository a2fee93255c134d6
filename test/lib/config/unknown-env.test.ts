import t from 'tap'
import { findUnknownEnv } from '../../../lib/config/unknown-env.ts'

t.test('variables that look misspelled are reported, other unknown ones are ignored', async (t) => {
  const names = ['SERVICE_ADDRESS', 'REGISTRY']
  const env = {
    MX_SERVICE_ADDRES: ':1',
    MX_REGISTRY: 'memory',
    MX_REGISTYR: '',
    MX_SOMETHING: '1',
    SERVICE_ADDRES: ':1',
  }
  t.strictSame(findUnknownEnv(env, names), [
    'unknown variable MX_SERVICE_ADDRES, did you mean MX_SERVICE_ADDRESS?',
    'unknown variable MX_REGISTYR, did you mean MX_REGISTRY?',
  ])
})

t.test('a suggestion includes the longer prefix of the variable', async (t) => {
  t.strictSame(findUnknownEnv({ MX_API_ADRESS: 'a' }, ['ADDRESS'], /^MX_(?:API_)?/), [
    'unknown variable MX_API_ADRESS, did you mean MX_API_ADDRESS?',
  ])
})
