import t from 'tap'
import { toHostName } from '../../../../core/http/host/host-name.ts'

t.test('toHostName returns the name in lower case without port and trailing dot', async (t) => {
  const rows: [string, string][] = [
    ['Shop.Example.COM:8080', 'shop.example.com'],
    ['shop.example.com.', 'shop.example.com'],
    ['shop.example.com.:443', 'shop.example.com'],
    ['127.0.0.1:80', '127.0.0.1'],
    ['[::1]:8080', '[::1]'],
    ['[::1]', '[::1]'],
    ['a:123456', 'a:123456'],
    ['', ''],
  ]
  for (const [host, name] of rows) t.equal(toHostName(host), name, host)
})
