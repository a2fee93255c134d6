// Written by `npm run gen`, not by hand.

/** Every file of this folder by its name; each exports what creates a registry. */
export const registries: {} = {}
