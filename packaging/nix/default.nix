# nix-build packaging/nix: sonde without a CUDA toolkit, for reading captures; cudaPackages adds the injected library.
{ pkgs ? import <nixpkgs> { }, withCuda ? false }:
pkgs.stdenv.mkDerivation {
  pname = "sonde";
  version = "0.1.0";
  src = ../..;
  nativeBuildInputs = [ pkgs.pkg-config ];
  buildInputs = [ pkgs.pcre2 pkgs.jansson pkgs.xxHash pkgs.sqlite pkgs.zlib ];
  makeFlags = [ "PREFIX=${placeholder "out"}" "MPICC=none" "MPICCS=" ]
    ++ pkgs.lib.optional withCuda "CUDA_HOME=${pkgs.cudaPackages.cudatoolkit}";
  enableParallelBuilding = true;
  meta = {
    description = "GPU profiling by NVTX region";
    license = pkgs.lib.licenses.asl20;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "sonde";
  };
}
