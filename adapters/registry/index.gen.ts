// Written by `npm run gen`, not by hand.
import memory from './memory.ts'
import static_ from './static.ts'

/** Every file of this folder by its name; each exports what creates a registry. */
export const registries: {
  readonly memory: typeof memory
  readonly static: typeof static_
} = {
  memory,
  static: static_,
}
