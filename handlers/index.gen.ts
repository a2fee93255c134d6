// Written by `npm run gen`, not by hand.
import proxy from './proxy.ts'

/** Every file of this folder by its name; each exports what creates a handler. */
export const handlers: {
  readonly proxy: typeof proxy
} = {
  proxy,
}
