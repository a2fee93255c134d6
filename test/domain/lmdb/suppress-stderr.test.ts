import t from 'tap'
import { silenceFailures } from '../../../domain/lmdb/suppress-stderr.ts'

const output = console

t.test("suppresses only the library's output about a failed transaction", async (t) => {
  const { args } = t.capture(output, 'error')
  const statuses: number[] = []
  const env = {
    startWriting(_address: unknown, onStatus: (status: number) => void) {
      for (const status of [0, 2, 28]) onStatus(status)
    },
  }
  silenceFailures({ env })
  env.startWriting(0, (status) => {
    statuses.push(status)
    output.error(status)
  })
  t.strictSame(statuses, [0, 2, 28])
  t.strictSame(args(), [[0], [2]])
})

t.test('restores stderr if a callback throws', async (t) => {
  const before = output.error
  const env = {
    startWriting(_address: unknown, onStatus: (status: number) => void) {
      t.throws(() => onStatus(28), { message: 'no' })
    },
  }
  silenceFailures({ env })
  env.startWriting(0, () => {
    throw new Error('no')
  })
  t.equal(output.error, before)
})
