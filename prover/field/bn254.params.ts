/** Constants of the curve BN254 (alt_bn128), as EIP-196 fixes them: y^2 = x^3 + 3 over Fq, prime order r. */

/** Order of G1 and modulus of the scalar field Fr. */
export const FR_MODULUS = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
/** Modulus of the base field Fq. */
export const FQ_MODULUS = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;
