import t from 'tap'
import { Type } from '../../../core/schema.ts'
import { compileSchema } from '../../../sdk/schema/schema.ts'
import {
  ConfigValueInput,
  GetOptionsSchema,
  Listing,
  Namespace,
  Path,
  Setting,
  Watching,
} from '../../../services/config/messages.ts'

const Request = Type.Object({
  namespace: Namespace,
  path: Path,
  get: GetOptionsSchema,
  set: Setting,
  list: Listing,
  watch: Watching,
})
const { decode } = compileSchema(Request, 'request')

t.test('applies defaults to omitted fields', async (t) => {
  t.strictSame(decode({}), {
    namespace: '',
    path: '',
    get: { secret: false, version: 0 },
    set: { secret: false },
    list: { limit: 0, after: '' },
    watch: { secret: false },
  })
})

t.test('rejects a malformed field with its rule', async (t) => {
  for (const [request, message] of [
    [{ namespace: 'a b' }, /^request\.namespace must be letters, digits .*, got "a b"$/],
    [{ path: 'a..b' }, /^request\.path must be at most 32 names joined by dots.*, got "a\.\.b"$/],
    [{ list: { after: '.' } }, /^request\.list\.after must be at most 32 names/],
    [{ list: { limit: -1 } }, /^request\.list\.limit must be/],
    [{ get: { secret: 'yes' } }, /^request\.get\.secret must be a boolean/],
  ] as const)
    t.throws(() => decode(request), { message })
})

t.test('never quotes a value in an error', async (t) => {
  const value = compileSchema(Type.Object({ value: ConfigValueInput }), 'request')
  t.strictSame(value.decode({ value: { data: '1' } }), { value: { data: '1', format: '' } })
  t.throws(() => value.decode({ value: { data: ['hunter2'] } }), {
    message: 'request.value.data must be a string, got array',
  })
})
