import t from 'tap'
import { checkValue, hasNonAscii, isPrintable } from '../../../core/listener/header-value.ts'

t.test('classifies every byte identically in short and long values', async (t) => {
  for (let code = 0; code < 256; code++) {
    const char = String.fromCharCode(code)
    for (const value of [
      char,
      `a${char}b`,
      `${'a'.repeat(23)}${char}`,
      `${'a'.repeat(24)}${char}b`,
    ]) {
      const text = JSON.stringify(value)
      t.equal(isPrintable(value), code >= 0x20 && code <= 0x7e, text)
      t.equal(hasNonAscii(value), code > 0x7f, text)
      const isControl = (code < 0x20 && code !== 9) || code === 0x7f
      t.equal(checkValue('x-a', value) !== undefined, isControl, text)
      t.equal(checkValue('connection', value) !== undefined, isControl || code > 0x7f, text)
    }
  }
})
